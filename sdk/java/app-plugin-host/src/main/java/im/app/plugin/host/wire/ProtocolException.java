// SPDX-License-Identifier: Apache-2.0

package im.app.plugin.host.wire;

/** Bytes that do not say what they should, or a value that cannot be said in a frame. */
public final class ProtocolException extends RuntimeException {
    private static final long serialVersionUID = 1L;

    /**
     * Makes one.
     *
     * @param message what was read or written, and the rule
     */
    public ProtocolException(String message) {
        super(message);
    }
}
