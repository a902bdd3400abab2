// SPDX-License-Identifier: Apache-2.0

package im.app.plugin.spi;

/** The levels of the log, the most important first. */
public enum LogLevel {
    /** Something failed. */
    ERROR,
    /** Somebody should look at it. */
    WARN,
    /** Worth knowing. */
    INFO,
    /** For whoever looks for an error. */
    DEBUG
}
