// SPDX-License-Identifier: Apache-2.0

package org.example.moderation;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;

import com.sun.net.httpserver.HttpServer;
import im.app.plugin.AppException;
import im.app.plugin.StatusCode;
import im.app.plugin.model.ClientRequest;
import im.app.plugin.test.PluginRunner;
import im.app.proto.AppRequest;
import im.app.proto.CreateMessageRequest;
import im.app.service.infra.plugin.extension.ClientRequestHandler;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.util.Map;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.Test;

class ModerationTest {

    private static ClientRequest message(String text) {
        return ClientRequest.builder().userId(1).request(AppRequest.newBuilder().setCreateMessageRequest(CreateMessageRequest.newBuilder().setText(text)).build()).build();
    }

    /** The settings as the server would complete them. */
    private static Map<String, Object> settings(String url, String action, String onFailure) {
        return Map.of("url", url, "threshold", 0.9, "action", action, "timeoutMillis", 4000, "onFailure", onFailure);
    }

    @Test
    void decides() throws Exception {
        AtomicReference<String> answer = new AtomicReference<>("{\"score\":0.2}");
        HttpServer service = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
        service.createContext("/", exchange -> {
            byte[] body = answer.get().getBytes(StandardCharsets.UTF_8);
            exchange.getRequestBody().readAllBytes();
            exchange.sendResponseHeaders(200, body.length);
            exchange.getResponseBody().write(body);
            exchange.close();
        });
        service.start();
        String url = "http://localhost:" + service.getAddress().getPort() + "/";
        try (PluginRunner plugin = PluginRunner.of(ModerationPlugin.class).settings(settings(url, "REJECT", "ALLOW")).start()) {
            ClientRequestHandler handler = plugin.point(ClientRequestHandler.class);
            assertNull(handler.transform(message("fine")));
            answer.set("{\"score\":0.95,\"masked\":\"***\"}");
            assertEquals(StatusCode.MESSAGE_IS_ILLEGAL, assertThrows(AppException.class, () -> handler.transform(message("bad"))).code());
            plugin.changeSettings(settings(url, "MASK", "ALLOW"));
            assertEquals("***", handler.transform(message("bad")).request().getCreateMessageRequest().getText());
            answer.set("nonsense");
            assertNull(handler.transform(message("bad")));
            plugin.changeSettings(settings(url, "MASK", "REFUSE"));
            assertEquals(StatusCode.MESSAGE_IS_ILLEGAL, assertThrows(AppException.class, () -> handler.transform(message("bad"))).code());
        } finally {
            service.stop(0);
        }
    }
}
