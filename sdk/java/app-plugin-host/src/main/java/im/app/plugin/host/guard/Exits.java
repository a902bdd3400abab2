// SPDX-License-Identifier: Apache-2.0

package im.app.plugin.host.guard;

/** Keeps plugins from ending the server where the administrator does not want that. */
public final class Exits {
    private static final boolean REFUSED = Boolean.getBoolean("app.plugin.host.refuse-exit");

    private Exits() {}

    /**
     * Is called in the place of {@link System#exit} by plugins.
     *
     * @param status the status
     * @throws SecurityException if plugins may not end the server
     */
    public static void exit(int status) {
        if (REFUSED) {
            throw new SecurityException("System.exit(" + status + ") is refused: the property app.plugin.java.allow-exit is false");
        }
        System.exit(status);
    }
}
