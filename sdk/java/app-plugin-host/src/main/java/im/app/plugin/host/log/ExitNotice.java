// SPDX-License-Identifier: Apache-2.0

package im.app.plugin.host.log;

/**
 * Records the exit status and the plugin that ends the process. The virtual machine does not pass
 * the status to shutdown hooks, but logs it before it runs them.
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
