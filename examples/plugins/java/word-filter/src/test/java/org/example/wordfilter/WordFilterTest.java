// SPDX-License-Identifier: Apache-2.0

package org.example.wordfilter;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;

import im.app.plugin.AppException;
import im.app.plugin.StatusCode;
import im.app.plugin.model.ClientRequest;
import im.app.plugin.test.PluginRunner;
import im.app.proto.AppRequest;
import im.app.proto.CreateMessageRequest;
import im.app.service.infra.plugin.extension.ClientRequestHandler;
import org.junit.jupiter.api.Test;

class WordFilterTest {

    private static ClientRequest message(String text) {
        return ClientRequest.builder()
                .request(AppRequest.newBuilder().setCreateMessageRequest(CreateMessageRequest.newBuilder().setText(text)).build())
                .build();
    }

    private static PluginRunner.Builder filter() {
        return PluginRunner.of(WordFilterPlugin.class).property("word-filter.words[0]", "darn").property("word-filter.words[1]", "Grüße");
    }

    @Test
    void rejects() throws Exception {
        try (PluginRunner plugin = filter().start()) {
            ClientRequestHandler handler = plugin.point(ClientRequestHandler.class);
            assertEquals(StatusCode.MESSAGE_IS_ILLEGAL, assertThrows(AppException.class, () -> handler.transform(message("well, DARN"))).code());
            assertNull(handler.transform(message("darned"))); // Only whole words match.
            assertNull(handler.transform(ClientRequest.builder().request(AppRequest.getDefaultInstance()).build()));
        }
    }

    @Test
    void masks() throws Exception {
        try (PluginRunner plugin = filter().property("word-filter.mode", "mask").start()) {
            ClientRequest changed = plugin.point(ClientRequestHandler.class).transform(message("darn $1, GRÜSSE and grüße!"));
            assertEquals("**** $1, GRÜSSE and *****!", changed.request().getCreateMessageRequest().getText());
        }
    }

    @Test
    void refusesOtherModes() {
        assertThrows(RuntimeException.class, () -> filter().property("word-filter.mode", "shout").start());
    }
}
