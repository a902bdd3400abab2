// SPDX-License-Identifier: Apache-2.0

package im.app.plugin.host.log;

/**
 * Records the status with which, and the plugin by which, the process is being ended. The virtual
 * machine does not pass them to shutdown hooks, but logs them just before.
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
     * Returns the status.
     *
     * @return the status; 0 if unknown
     */
    public static int status() {
        return status;
    }

    /**
     * Returns the plugin.
     *
     * @return the number of the plugin, 0 if unknown
     */
    public static int module() {
        return module;
    }
}
