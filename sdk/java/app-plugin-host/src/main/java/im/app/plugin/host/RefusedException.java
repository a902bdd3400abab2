// SPDX-License-Identifier: Apache-2.0

package im.app.plugin.host;

/**
 * Thrown if the host rejects a request of the server. The message is reported without the class
 * name.
 */
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
