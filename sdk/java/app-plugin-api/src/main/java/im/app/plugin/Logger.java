// SPDX-License-Identifier: Apache-2.0

package im.app.plugin;

import im.app.plugin.spi.ExtensionContext;
import im.app.plugin.spi.LogLevel;

/**
 * Writes to the log of the server, with the id and the version of the plugin. Each <code>{}</code> in a message stands for the argument
 * at its place. An exception that is the last argument and has no place in the message is logged with its stack.
 */
public final class Logger {

    private final ExtensionContext context;
    private final String name;

    Logger(ExtensionContext context, String name) {
        this.context = context;
        this.name = name;
    }

    /**
     * Logs that something failed.
     *
     * @param message the message
     * @param args what stands at its places
     */
    public void error(String message, Object... args) {
        log(LogLevel.ERROR, message, args);
    }

    /**
     * Logs something that somebody should look at.
     *
     * @param message the message
     * @param args what stands at its places
     */
    public void warn(String message, Object... args) {
        log(LogLevel.WARN, message, args);
    }

    /**
     * Logs something worth knowing.
     *
     * @param message the message
     * @param args what stands at its places
     */
    public void info(String message, Object... args) {
        log(LogLevel.INFO, message, args);
    }

    /**
     * Logs something for whoever looks for an error.
     *
     * @param message the message
     * @param args what stands at its places
     */
    public void debug(String message, Object... args) {
        log(LogLevel.DEBUG, message, args);
    }

    private void log(LogLevel level, String message, Object[] args) {
        StringBuilder text = new StringBuilder();
        int next = 0;
        int from = 0;
        String pattern = String.valueOf(message);
        int count = args == null ? 0 : args.length;
        for (int at = pattern.indexOf("{}"); at >= 0 && next < count; at = pattern.indexOf("{}", from)) {
            text.append(pattern, from, at).append(args[next++]);
            from = at + 2;
        }
        text.append(pattern, from, pattern.length());
        Throwable thrown = null;
        if (next < count && args[count - 1] instanceof Throwable last) {
            thrown = last;
            count--;
        }
        for (; next < count; next++) {
            text.append(' ').append(args[next]);
        }
        context.log(level, name, text.toString(), thrown);
    }
}
