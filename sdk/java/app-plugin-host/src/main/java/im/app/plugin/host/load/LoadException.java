// SPDX-License-Identifier: Apache-2.0

package im.app.plugin.host.load;

/**
 * Thrown if a plugin cannot be loaded. The message is for its author and is reported without the
 * class name.
 */
public final class LoadException extends Exception {
    private static final long serialVersionUID = 1L;

    /**
     * Creates the exception.
     *
     * @param message the invalid class and the rule that it violates
     */
    public LoadException(String message) {
        super(message);
    }

    /**
     * Creates the exception.
     *
     * @param message the failed operation
     * @param cause the exception that it threw
     */
    public LoadException(String message, Throwable cause) {
        super(message, cause);
    }
}
