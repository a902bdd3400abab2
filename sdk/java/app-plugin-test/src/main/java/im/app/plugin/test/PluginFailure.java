// SPDX-License-Identifier: Apache-2.0

package im.app.plugin.test;

/**
 * Thrown on a failure that a server would log, such as a plugin that cannot be loaded or throws an
 * exception other than {@link im.app.plugin.AppException}.
 */
public class PluginFailure extends RuntimeException {

    private static final long serialVersionUID = 1L;

    /** The location of the exception. */
    private final String location;

    /** The stack in the plugin. */
    private final String stack;

    /**
     * Creates the exception.
     *
     * @param message the message
     * @param location file and line; empty if unknown
     * @param stack the stack in the plugin; empty if unknown
     */
    public PluginFailure(String message, String location, String stack) {
        super(location.isEmpty() ? message : message + " (" + location + ")" + (stack.isEmpty() ? "" : "\n" + stack));
        this.location = location;
        this.stack = stack;
    }

    /**
     * Returns the location of the exception.
     *
     * @return file and line; empty if unknown
     */
    public String location() {
        return location;
    }

    /**
     * Returns the stack in the plugin.
     *
     * @return the stack; empty if unknown
     */
    public String stack() {
        return stack;
    }
}
