// SPDX-License-Identifier: Apache-2.0

package org.example.archive;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.sun.net.httpserver.HttpServer;
import im.app.plugin.model.StoredMessage;
import im.app.plugin.test.PluginRunner;
import im.app.service.infra.plugin.extension.ExpiredMessageDeletionNotifier;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.Test;

class MessageArchiveTest {

    @Test
    void archives() throws Exception {
        AtomicInteger status = new AtomicInteger(200);
        AtomicReference<String> got = new AtomicReference<>();
        HttpServer archive = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
        archive.createContext("/", exchange -> {
            got.set(new String(exchange.getRequestBody().readAllBytes(), StandardCharsets.UTF_8));
            exchange.sendResponseHeaders(status.get(), -1);
            exchange.close();
        });
        archive.start();
        try (PluginRunner plugin = PluginRunner.of(MessageArchivePlugin.class)
                .property("message-archive.url", "http://localhost:" + archive.getAddress().getPort() + "/").start()) {
            ExpiredMessageDeletionNotifier notifier = plugin.point(ExpiredMessageDeletionNotifier.class);
            List<StoredMessage> messages = List.of(StoredMessage.builder().id(1L << 62).senderId(5).targetId(6).text("old").build(), StoredMessage.builder().id(2).build());
            assertEquals(2, notifier.getMessagesToDelete(messages).size());
            assertEquals("{\"id\":\"4611686018427387904\",\"senderId\":\"5\",\"targetId\":\"6\",\"isGroupMessage\":false,\"isSystemMessage\":false,"
                    + "\"deliveryDate\":\"1970-01-01T00:00:00Z\",\"text\":\"old\"}", got.get().lines().findFirst().orElseThrow());
            status.set(503);
            RuntimeException e = assertThrows(RuntimeException.class, () -> notifier.getMessagesToDelete(messages));
            assertTrue(e.getMessage().contains("the archive answered 503"), e.getMessage());
        } finally {
            archive.stop(0);
        }
    }
}
