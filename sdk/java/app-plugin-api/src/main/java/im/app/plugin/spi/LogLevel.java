// SPDX-License-Identifier: Apache-2.0

package im.app.plugin.spi;

/** The levels of the log, the most important first. */
public enum LogLevel {
    /** A failure. */
    ERROR,
    /** An abnormal condition. */
    WARN,
    /** A normal event. */
    INFO,
    /** Details for debugging. */
    DEBUG
}
