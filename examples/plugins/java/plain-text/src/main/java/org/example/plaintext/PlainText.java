// SPDX-License-Identifier: Apache-2.0

package org.example.plaintext;

import im.app.plugin.AppExtension;
import im.app.plugin.model.ClientRequest;
import im.app.service.infra.plugin.extension.ClientRequestHandler;
import org.commonmark.parser.Parser;
import org.commonmark.renderer.text.TextContentRenderer;

/**
 * Converts messages in Markdown to plain text, for clients that cannot render it. The Markdown
 * library is packed into the jar of the plugin.
 */
public class PlainText extends AppExtension implements ClientRequestHandler {

    // Both are safe for concurrent use.
    private final Parser parser = Parser.builder().build();
    private final TextContentRenderer renderer = TextContentRenderer.builder().build();

    @Override
    public ClientRequest transform(ClientRequest clientRequest) {
        String text = clientRequest.request().getCreateMessageRequest().getText();
        if (text.isEmpty()) {
            return null;
        }
        String plain = renderer.render(parser.parse(text));
        return plain.equals(text) ? null : clientRequest.editRequest(r -> r.getCreateMessageRequestBuilder().setText(plain));
    }
}
