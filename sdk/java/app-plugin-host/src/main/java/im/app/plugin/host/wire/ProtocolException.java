// SPDX-License-Identifier: Apache-2.0

package im.app.plugin.host.wire;

/** Thrown if bytes are invalid or a value does not fit into a frame. */
public final class ProtocolException extends RuntimeException {
    private static final long serialVersionUID = 1L;

    /**
     * Creates the exception.
     *
     * @param message the invalid value and the rule that it violates
     */
    public ProtocolException(String message) {
        super(message);
    }
}
