// SPDX-License-Identifier: Apache-2.0

package im.app.plugin.test;

/** What a server would log: the plugin threw something else than an {@link im.app.plugin.AppException}, or could not be loaded. */
public class PluginFailure extends RuntimeException {

    private static final long serialVersionUID = 1L;

    /** Where it was thrown. */
    private final String location;

    /** The stack in the plugin. */
    private final String stack;

    /**
     * Makes one.
     *
     * @param message what happened
     * @param location file and line; empty if they are not known
     * @param stack the stack in the plugin; empty if it is not known
     */
    public PluginFailure(String message, String location, String stack) {
        super(location.isEmpty() ? message : message + " (" + location + ")" + (stack.isEmpty() ? "" : "\n" + stack));
        this.location = location;
        this.stack = stack;
    }

    /**
     * Where it was thrown.
     *
     * @return file and line; empty if they are not known
     */
    public String location() {
        return location;
    }

    /**
     * The stack in the plugin.
     *
     * @return the stack; empty if it is not known
     */
    public String stack() {
        return stack;
    }
}
