// SPDX-License-Identifier: Apache-2.0

package im.app.plugin.host.load;

/** A plugin that cannot be loaded. The message is a sentence for its author. */
public final class LoadException extends Exception {
    private static final long serialVersionUID = 1L;

    /**
     * Makes one.
     *
     * @param message what is wrong with which class, and the rule
     */
    public LoadException(String message) {
        super(message);
    }

    /**
     * Makes one.
     *
     * @param message what was tried
     * @param cause what was thrown meanwhile
     */
    public LoadException(String message, Throwable cause) {
        super(message, cause);
    }
}
