// SPDX-License-Identifier: Apache-2.0

package org.example.bridge;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.sun.net.httpserver.HttpServer;
import im.app.plugin.model.DomainEvent;
import im.app.plugin.test.PluginRunner;
import im.app.service.infra.plugin.extension.DomainEventConsumer;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.Test;

class WebhookBridgeTest {

    @Test
    void sends() throws Exception {
        AtomicInteger status = new AtomicInteger(200);
        AtomicReference<String> got = new AtomicReference<>("");
        HttpServer webhook = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
        webhook.createContext("/", exchange -> {
            got.set(new String(exchange.getRequestBody().readAllBytes(), StandardCharsets.UTF_8));
            exchange.sendResponseHeaders(status.get(), -1);
            exchange.close();
        });
        webhook.start();
        try (PluginRunner plugin = PluginRunner.of(WebhookBridgePlugin.class)
                .property("webhook-bridge.url", "http://localhost:" + webhook.getAddress().getPort() + "/")
                .property("webhook-bridge.types[0]", "USER_CREATED").start()) {
            DomainEventConsumer consumer = plugin.point(DomainEventConsumer.class);
            List<DomainEvent> events = List.of(
                    DomainEvent.builder().id(1L << 62).type("USER_CREATED").userId(5L).build(),
                    DomainEvent.builder().id((1L << 62) + 1).type("USER_UPDATED").userId(5L).build());
            consumer.consumeDomainEvents(events);
            assertEquals("[{\"id\":\"4611686018427387904\",\"type\":\"USER_CREATED\",\"date\":\"1970-01-01T00:00:00Z\",\"userId\":\"5\"}]", got.get());
            got.set("");
            consumer.consumeDomainEvents(events.subList(1, 2));
            assertEquals("", got.get());
            status.set(503);
            RuntimeException e = assertThrows(RuntimeException.class, () -> consumer.consumeDomainEvents(events));
            assertTrue(e.getMessage().contains("the webhook answered 503"), e.getMessage());
        } finally {
            webhook.stop(0);
        }
    }
}
