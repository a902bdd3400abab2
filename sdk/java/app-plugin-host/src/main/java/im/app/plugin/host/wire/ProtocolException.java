// SPDX-License-Identifier: Apache-2.0

package im.app.plugin.host.wire;

/** Invalid bytes, or a value that does not fit into a frame. */
public final class ProtocolException extends RuntimeException {
    private static final long serialVersionUID = 1L;

    /**
     * Creates the exception.
     *
     * @param message what was read or written, and the rule
     */
    public ProtocolException(String message) {
        super(message);
    }
}
