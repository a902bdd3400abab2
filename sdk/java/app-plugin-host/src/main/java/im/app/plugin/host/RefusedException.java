// SPDX-License-Identifier: Apache-2.0

package im.app.plugin.host;

/** A request of the server that the host rejects before executing it. The message is a sentence. */
public final class RefusedException extends Exception {
    private static final long serialVersionUID = 1L;

    /**
     * Creates the exception.
     *
     * @param message the request, and the rule that it violates
     */
    public RefusedException(String message) {
        super(message, null, false, false);
    }
}
