// SPDX-License-Identifier: Apache-2.0

package im.app.plugin;

import im.app.plugin.spi.ExtensionContext;
import im.app.plugin.spi.LogLevel;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * Writes to the log of the server, with the id and the version of the plugin. Each <code>{}</code>
 * in a message is replaced by the argument at its position. An exception that is the last argument
 * and has no placeholder is logged with its stack.
 *
 * <p>A line with a level that the server does not log costs a few nanoseconds and is not sent
 * anywhere.
 */
public final class Logger {

    private final ExtensionContext context;
    private final String name;

    Logger(ExtensionContext context, String name) {
        this.context = context;
        this.name = name;
    }

    /**
     * Logs a failure.
     *
     * @param message the message
     * @param args the arguments of its placeholders
     */
    public void error(String message, @Nullable Object... args) {
        log(LogLevel.ERROR, message, args);
    }

    /**
     * Logs a failure. The supplier is called only if the message is logged.
     *
     * @param message supplies the message
     */
    public void error(Supplier<String> message) {
        log(LogLevel.ERROR, message);
    }

    /**
     * Returns whether the level is logged.
     *
     * @return whether the server logs the level
     */
    public boolean isErrorEnabled() {
        return context.enabled(LogLevel.ERROR);
    }

    /**
     * Logs a warning.
     *
     * @param message the message
     * @param args the arguments of its placeholders
     */
    public void warn(String message, @Nullable Object... args) {
        log(LogLevel.WARN, message, args);
    }

    /**
     * Logs a warning. The supplier is called only if the message is logged.
     *
     * @param message supplies the message
     */
    public void warn(Supplier<String> message) {
        log(LogLevel.WARN, message);
    }

    /**
     * Returns whether the level is logged.
     *
     * @return whether the server logs the level
     */
    public boolean isWarnEnabled() {
        return context.enabled(LogLevel.WARN);
    }

    /**
     * Logs information.
     *
     * @param message the message
     * @param args the arguments of its placeholders
     */
    public void info(String message, @Nullable Object... args) {
        log(LogLevel.INFO, message, args);
    }

    /**
     * Logs information. The supplier is called only if the message is logged.
     *
     * @param message supplies the message
     */
    public void info(Supplier<String> message) {
        log(LogLevel.INFO, message);
    }

    /**
     * Returns whether the level is logged.
     *
     * @return whether the server logs the level
     */
    public boolean isInfoEnabled() {
        return context.enabled(LogLevel.INFO);
    }

    /**
     * Logs details for debugging.
     *
     * @param message the message
     * @param args the arguments of its placeholders
     */
    public void debug(String message, @Nullable Object... args) {
        log(LogLevel.DEBUG, message, args);
    }

    /**
     * Logs details for debugging. The supplier is called only if the message is logged.
     *
     * @param message supplies the message
     */
    public void debug(Supplier<String> message) {
        log(LogLevel.DEBUG, message);
    }

    /**
     * Returns whether the level is logged.
     *
     * @return whether the server logs the level
     */
    public boolean isDebugEnabled() {
        return context.enabled(LogLevel.DEBUG);
    }

    private void log(LogLevel level, Supplier<String> message) {
        if (context.enabled(level)) {
            context.log(level, name, String.valueOf(message == null ? null : message.get()), null);
        }
    }

    private void log(LogLevel level, String message, @Nullable Object[] args) {
        if (context.enabled(level)) {
            write(level, message, args);
        }
    }

    private void write(LogLevel level, String message, @Nullable Object[] args) {
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
