// SPDX-License-Identifier: Apache-2.0

package im.app.plugin.host.log;

/**
 * Remembers with which status, and by which plugin, the process is being ended. The virtual machine does not tell that to
 * its shutdown hooks, but it writes it to its own log just before.
 */
public final class ExitNotice {
    private static volatile int status;
    private static volatile int module;

    private ExitNotice() {}

    static void exiting(int withStatus, int byModule) {
        status = withStatus;
        module = byModule;
    }

    /**
     * Tells the status.
     *
     * @return the status; it is 0 if it could not be learned
     */
    public static int status() {
        return status;
    }

    /**
     * Tells who it was.
     *
     * @return the number of the plugin, 0 if it could not be learned
     */
    public static int module() {
        return module;
    }
}
