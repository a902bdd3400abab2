// SPDX-License-Identifier: Apache-2.0

package org.example.moderation;

import im.app.plugin.AppException;
import im.app.plugin.AppExtension;
import im.app.plugin.StatusCode;
import im.app.plugin.json.Json;
import im.app.plugin.model.ClientRequest;
import im.app.proto.AppRequest;
import im.app.service.infra.plugin.extension.ClientRequestHandler;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.time.Duration;
import java.util.Map;

/**
 * Sends the text of each message to an HTTP service, and refuses or masks messages with a high
 * score. The service gets <code>{"text": "…"}</code> and answers with <code>{"score": 0.93,
 * "masked": "…"}</code>: a score from 0 to 1, and the text with the offending parts masked. The
 * settings are below plugins.moderation of /cluster/settings and can be changed at run time.
 *
 * <p>Each version has its own strictness: the default of threshold in plugin.yaml. README.md of the
 * examples in JavaScript shows how to try a stricter version as a shadow first.
 */
public class Moderation extends AppExtension implements ClientRequestHandler {

    /** What to do with a message. */
    public enum Action {
        REJECT,
        MASK
    }

    /** What to do with messages while the service does not answer. */
    public enum OnFailure {
        ALLOW,
        REFUSE
    }

    /** The settings. */
    public record Settings(String url, String token, double threshold, Action action, long timeoutMillis, OnFailure onFailure) {}

    /** The response of the service. */
    public record Rating(Double score, String masked) {}

    private volatile HttpClient client;
    private volatile Settings settings;

    @Override
    public void start() {
        settings = settings(Settings.class);
        client = HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).build();
    }

    @Override
    public void onSettingsChanged(Map<String, Object> values) {
        settings = settings(Settings.class);
    }

    @Override
    public void stop() throws InterruptedException {
        if (client != null) {
            client.shutdownNow(); // Its threads would keep the classes of the plugin in memory.
            client.awaitTermination(Duration.ofSeconds(10));
        }
    }

    @Override
    public ClientRequest transform(ClientRequest clientRequest) throws InterruptedException {
        // New messages and edited ones.
        AppRequest request = clientRequest.request();
        if (request.hasCreateMessageRequest()) {
            String text = check(request.getCreateMessageRequest().getText());
            return text == null ? null : clientRequest.editRequest(r -> r.getCreateMessageRequestBuilder().setText(text));
        }
        if (request.hasUpdateMessageRequest()) {
            String text = check(request.getUpdateMessageRequest().getText());
            return text == null ? null : clientRequest.editRequest(r -> r.getUpdateMessageRequestBuilder().setText(text));
        }
        return null; // null leaves the request unchanged.
    }

    /** Returns the replacement of a text, or null to leave it unchanged. */
    private String check(String text) throws InterruptedException {
        if (text.isEmpty()) {
            return null;
        }
        Settings now = settings;
        Rating rating;
        try {
            rating = rate(text, now);
        } catch (IOException e) {
            logger().warn("a message could not be checked", e);
            if (now.onFailure() == OnFailure.ALLOW) {
                return null;
            }
            throw new AppException(StatusCode.MESSAGE_IS_ILLEGAL, "messages cannot be checked at present; please try again later");
        }
        if (rating.score() < now.threshold()) {
            return null;
        }
        if (now.action() == Action.REJECT || rating.masked() == null) {
            throw new AppException(StatusCode.MESSAGE_IS_ILLEGAL, "the message breaks the rules of this place");
        }
        return rating.masked();
    }

    private Rating rate(String text, Settings now) throws IOException, InterruptedException {
        HttpRequest.Builder request = HttpRequest.newBuilder(URI.create(now.url())).timeout(Duration.ofMillis(now.timeoutMillis()))
                .header("Content-Type", "application/json").POST(HttpRequest.BodyPublishers.ofString(Json.write(Map.of("text", text))));
        if (now.token() != null) {
            request.header("Authorization", "Bearer " + now.token());
        }
        if (isShadow()) {
            request.header("X-Shadow", "true"); // A shadow sends the same text once more; the service can ignore it in its statistics.
        }
        HttpResponse<String> response = client.send(request.build(), HttpResponse.BodyHandlers.ofString());
        if (response.statusCode() < 200 || response.statusCode() > 299) {
            throw new IOException("the service answered " + response.statusCode());
        }
        Rating rating;
        try {
            rating = Json.read(response.body(), Rating.class);
        } catch (RuntimeException e) {
            throw new IOException("the service answered no JSON", e);
        }
        if (rating == null || rating.score() == null) {
            throw new IOException("the service answered without a score");
        }
        return rating;
    }
}
