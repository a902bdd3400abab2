// SPDX-License-Identifier: Apache-2.0

package im.app.plugin.host.guard;

import im.app.plugin.host.log.Redirect;

/**
 * Prevents plugins from ending the server unless the administrator permits it, and reports which
 * plugin ends the process.
 */
public final class Exits {
    private static final boolean REFUSED = Boolean.getBoolean("app.plugin.host.refuse-exit");

    private Exits() {}

    /**
     * Called by plugins instead of {@link System#exit}.
     *
     * @param status the status
     * @throws SecurityException if plugins may not end the server
     */
    public static void exit(int status) {
        check("System.exit", status);
        System.exit(status);
    }

    /**
     * Called by plugins instead of {@link Runtime#exit}.
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
     * Called by plugins instead of {@link Runtime#halt}.
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
