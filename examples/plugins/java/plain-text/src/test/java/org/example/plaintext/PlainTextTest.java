// SPDX-License-Identifier: Apache-2.0

package org.example.plaintext;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import im.app.plugin.model.ClientRequest;
import im.app.plugin.test.PluginRunner;
import im.app.proto.AppRequest;
import im.app.proto.CreateMessageRequest;
import im.app.service.infra.plugin.extension.ClientRequestHandler;
import org.commonmark.parser.Parser;
import org.junit.jupiter.api.Test;

class PlainTextTest {

    private static ClientRequest message(String text) {
        return ClientRequest.builder()
                .request(AppRequest.newBuilder().setCreateMessageRequest(CreateMessageRequest.newBuilder().setText(text)).build())
                .build();
    }

    @Test
    void takesTheMarkupAway() throws Exception {
        try (PluginRunner plugin = PluginRunner.of(PlainTextPlugin.class).with(Parser.class).start()) {
            ClientRequestHandler handler = plugin.point(ClientRequestHandler.class);
            assertEquals("very important", handler.transform(message("**very** *important*")).request().getCreateMessageRequest().getText());
            assertNull(handler.transform(message("plain")));
        }
    }

    /**
     * Without the library in its jar, the plugin fails with the name of the missing class, as on a
     * server.
     */
    @Test
    void needsItsLibrary() {
        RuntimeException e = assertThrows(RuntimeException.class, () -> PluginRunner.of(PlainTextPlugin.class).load());
        assertTrue(e.getMessage().contains("org/commonmark/parser/Parser"), e.getMessage());
    }
}
