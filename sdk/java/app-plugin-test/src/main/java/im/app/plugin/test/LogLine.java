// SPDX-License-Identifier: Apache-2.0

package im.app.plugin.test;

import im.app.plugin.spi.LogLevel;

/**
 * A line that a plugin logged.
 *
 * @param level the level
 * @param logger the name of the logger, usually the name of a class
 * @param message the message
 * @param stack the stack of the logged exception; empty if there was none
 */
public record LogLine(LogLevel level, String logger, String message, String stack) {}
