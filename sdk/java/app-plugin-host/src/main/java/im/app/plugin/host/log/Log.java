// SPDX-License-Identifier: Apache-2.0

package im.app.plugin.host.log;

/** The log of the server. */
@FunctionalInterface
public interface Log {
    /** Something failed. */
    int ERROR = 0;
    /** Something is not as it should be. */
    int WARN = 1;
    /** Something happened. */
    int INFO = 2;
    /** Something that only matters when an error is searched. */
    int DEBUG = 3;

    /**
     * Writes a line. It waits while more lines are on their way than the server can take.
     *
     * @param module the plugin that writes, 0 if it is none
     * @param level one of the constants of this interface
     * @param logger who writes, usually a class
     * @param message what
     * @param thrown what was thrown, or null
     */
    void write(int module, int level, String logger, String message, Throwable thrown);
}
