// SPDX-License-Identifier: Apache-2.0

package im.app.plugin;

import java.io.IOException;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;

/**
 * Takes the answer of an endpoint that declares a content type. What is written is sent when enough of it was gathered, when
 * {@link #flush()} is called, and when the handler returns. Writing waits until the caller takes it, which does not count as
 * time of the handler. It fails when the caller has left. Only one thread may write at a time.
 */
public abstract class EndpointOutput extends OutputStream {

    /** Called by hosts. */
    protected EndpointOutput() {}

    /**
     * Writes a text in UTF-8.
     *
     * @param text the text
     * @throws IOException if the caller has left, or the answer is too long
     */
    public void write(String text) throws IOException {
        write(text.getBytes(StandardCharsets.UTF_8));
    }
}
