// SPDX-License-Identifier: Apache-2.0

package im.app.plugin.test;

import im.app.plugin.spi.LogLevel;

/**
 * A line that a plugin logged.
 *
 * @param level how important it is
 * @param logger who wrote it, mostly the name of a class
 * @param message what it says
 * @param stack the stack of the exception that was logged with it; empty if there was none
 */
public record LogLine(LogLevel level, String logger, String message, String stack) {}
