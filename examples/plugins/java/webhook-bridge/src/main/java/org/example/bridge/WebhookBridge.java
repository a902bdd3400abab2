// SPDX-License-Identifier: Apache-2.0

package org.example.bridge;

import im.app.plugin.AppExtension;
import im.app.plugin.PropertiesPrefix;
import im.app.plugin.json.Json;
import im.app.plugin.model.DomainEvent;
import im.app.service.infra.plugin.extension.DomainEventConsumer;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.security.GeneralSecurityException;
import java.time.Duration;
import java.util.HexFormat;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import javax.crypto.Mac;
import javax.crypto.spec.SecretKeySpec;

/**
 * Notifies another system of every change of users, groups and messages, in order and without
 * losing any. While the webhook does not answer with 2xx, the server retries the same events after
 * 1 second, then 2, 4, …, at most 60, also on another node or after a restart. The webhook may
 * receive an event more than once, so it should deduplicate by id.
 *
 * <pre>
 * webhook-bridge.url=https://crm.example.org/events
 * webhook-bridge.types[0]=USER_CREATED  the types to send; all types if not set
 * webhook-bridge.secret=...             if set, X-Signature contains the HMAC-SHA-256 of the body
 * </pre>
 */
public class WebhookBridge extends AppExtension implements DomainEventConsumer {

    /** The properties. */
    @PropertiesPrefix("webhook-bridge")
    public record Properties(URI url, List<String> types, String secret) {}

    private volatile HttpClient client;
    private volatile Properties properties;

    @Override
    public void start() {
        properties = loadProperties(Properties.class);
        if (properties.url() == null) {
            throw new IllegalArgumentException("webhook-bridge.url is missing");
        }
        client = HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).build();
    }

    @Override
    public void stop() throws InterruptedException {
        if (client != null) {
            client.shutdownNow(); // Its threads would keep the classes of the plugin in memory.
            client.awaitTermination(Duration.ofSeconds(10));
        }
    }

    @Override
    public void consumeDomainEvents(List<DomainEvent> events) throws IOException, InterruptedException, GeneralSecurityException {
        List<String> types = properties.types();
        List<Map<String, Object>> wanted = events.stream().filter(e -> types == null || types.isEmpty() || types.contains(e.type())).map(WebhookBridge::line).toList();
        if (wanted.isEmpty()) {
            return;
        }
        byte[] body = Json.write(wanted).getBytes(StandardCharsets.UTF_8);
        HttpRequest.Builder request = HttpRequest.newBuilder(properties.url()).timeout(Duration.ofSeconds(4)).header("Content-Type", "application/json")
                .POST(HttpRequest.BodyPublishers.ofByteArray(body));
        String secret = properties.secret();
        if (secret != null && !secret.isEmpty()) {
            Mac mac = Mac.getInstance("HmacSHA256");
            mac.init(new SecretKeySpec(secret.getBytes(StandardCharsets.UTF_8), "HmacSHA256"));
            request.header("X-Signature", HexFormat.of().formatHex(mac.doFinal(body)));
        }
        int status = client.send(request.build(), HttpResponse.BodyHandlers.discarding()).statusCode();
        if (status < 200 || status > 299) {
            throw new IOException("the webhook answered " + status); // The server sends them again.
        }
    }

    /**
     * Returns the JSON object of an event. Ids are strings, because many JSON parsers lose digits
     * of large numbers.
     */
    private static Map<String, Object> line(DomainEvent e) {
        Map<String, Object> line = new LinkedHashMap<>();
        line.put("id", text(e.id()));
        line.put("type", e.type());
        line.put("date", e.date());
        line.put("userId", text(e.userId()));
        line.put("groupId", text(e.groupId()));
        line.put("messageId", text(e.messageId()));
        line.put("targetId", text(e.targetId()));
        return line;
    }

    private static String text(Long id) {
        return id == null ? null : id.toString();
    }
}
