// SPDX-License-Identifier: Apache-2.0

package im.app.plugin.host.guard;

import im.app.plugin.host.log.Redirect;

/** Keeps plugins from ending the server where the administrator does not want that, and tells who ends the process. */
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
        check("System.exit", status);
        System.exit(status);
    }

    /**
     * Is called in the place of {@link Runtime#exit} by plugins.
     *
     * @param runtime the runtime
     * @param status the status
     * @throws SecurityException if plugins may not end the server
     */
    public static void exit(Runtime runtime, int status) {
        check("Runtime.exit", status);
        runtime.exit(status);
    }

    /**
     * Is called in the place of {@link Runtime#halt} by plugins.
     *
     * @param runtime the runtime
     * @param status the status
     * @throws SecurityException if plugins may not end the server
     */
    public static void halt(Runtime runtime, int status) {
        check("Runtime.halt", status);
        Redirect.ending("Runtime.halt(" + status + ")");
        runtime.halt(status);
    }

    private static void check(String what, int status) {
        if (REFUSED) {
            throw new SecurityException(what + "(" + status + ") is refused: the property app.plugin.java.allow-exit is false");
        }
    }
}
