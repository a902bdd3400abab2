// SPDX-License-Identifier: Apache-2.0

package org.example.archive;

import im.app.plugin.AppExtension;
import im.app.plugin.PropertiesPrefix;
import im.app.plugin.json.Json;
import im.app.plugin.model.StoredMessage;
import im.app.service.infra.plugin.extension.ExpiredMessageDeletionNotifier;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;

/**
 * Sends expired messages to an archive before the server deletes them. Messages that the archive
 * did not accept are not deleted, and are sent again when the server next looks for expired
 * messages.
 *
 * <pre>
 * message-archive.url=https://archive.example.org/messages
 * </pre>
 */
public class MessageArchive extends AppExtension implements ExpiredMessageDeletionNotifier {

    /** The properties. */
    @PropertiesPrefix("message-archive")
    public record Properties(URI url) {}

    private volatile HttpClient client;
    private volatile URI url;

    @Override
    public void start() {
        url = loadProperties(Properties.class).url();
        if (url == null) {
            throw new IllegalArgumentException("message-archive.url is missing");
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
    public List<StoredMessage> getMessagesToDelete(List<StoredMessage> messages) throws IOException, InterruptedException {
        // One JSON object per line. The archive may receive a message twice, so it should
        // deduplicate by id.
        String body = messages.stream().map(m -> Json.write(line(m)) + "\n").collect(Collectors.joining());
        HttpRequest request = HttpRequest.newBuilder(url).timeout(Duration.ofSeconds(4)).header("Content-Type", "application/x-ndjson")
                .POST(HttpRequest.BodyPublishers.ofString(body)).build();
        int status = client.send(request, HttpResponse.BodyHandlers.discarding()).statusCode();
        if (status < 200 || status > 299) {
            throw new IOException("the archive answered " + status); // On failure, the server keeps all messages.
        }
        logger().info("{} messages archived", messages.size());
        return messages;
    }

    /**
     * Returns the JSON object of a message. Ids are strings, because many JSON parsers lose digits
     * of large numbers.
     */
    private static Map<String, Object> line(StoredMessage m) {
        Map<String, Object> line = new LinkedHashMap<>();
        line.put("id", String.valueOf(m.id()));
        line.put("senderId", String.valueOf(m.senderId()));
        line.put("targetId", String.valueOf(m.targetId()));
        line.put("isGroupMessage", m.isGroupMessage());
        line.put("isSystemMessage", m.isSystemMessage());
        line.put("deliveryDate", m.deliveryDate());
        line.put("modificationDate", m.modificationDate());
        line.put("text", m.text());
        line.put("records", m.records().isEmpty() ? null : m.records());
        return line;
    }
}
