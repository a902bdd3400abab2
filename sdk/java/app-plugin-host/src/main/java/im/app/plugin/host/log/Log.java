// SPDX-License-Identifier: Apache-2.0

package im.app.plugin.host.log;

/** The log of the server. */
@FunctionalInterface
public interface Log {
    /** A failure. */
    int ERROR = 0;
    /** An abnormal condition. */
    int WARN = 1;
    /** A normal event. */
    int INFO = 2;
    /** Details for debugging. */
    int DEBUG = 3;

    /**
     * Writes a line. Blocks while the server does not accept more lines.
     *
     * @param module the number of the plugin that writes; 0 if there is none
     * @param level one of the constants of this interface
     * @param logger the name of the logger, usually a class
     * @param message the message
     * @param thrown the exception; may be null
     */
    void write(int module, int level, String logger, String message, Throwable thrown);
}
