// SPDX-License-Identifier: Apache-2.0

package im.app.plugin;

import java.io.IOException;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;

/**
 * Receives the response of an endpoint that declares a content type. Written data is sent when the
 * buffer is full, when {@link #flush()} is called, and when the handler returns. Writing blocks
 * until the caller accepts the data, which does not count towards the time limit of the handler. It
 * fails if the caller has disconnected. Only one thread may write at a time.
 */
public abstract class EndpointOutput extends OutputStream {

    /** Called by hosts. */
    protected EndpointOutput() {}

    /**
     * Writes a text in UTF-8.
     *
     * @param text the text
     * @throws IOException if the caller has disconnected, or the response is too long
     */
    public void write(String text) throws IOException {
        write(text.getBytes(StandardCharsets.UTF_8));
    }
}
