// SPDX-License-Identifier: Apache-2.0

package im.app.plugin.host;

/** A request of the server that the host does not even begin. The message is a sentence. */
public final class RefusedException extends Exception {
    private static final long serialVersionUID = 1L;

    /**
     * Makes one.
     *
     * @param message what was asked for, and the rule
     */
    public RefusedException(String message) {
        super(message, null, false, false);
    }
}
