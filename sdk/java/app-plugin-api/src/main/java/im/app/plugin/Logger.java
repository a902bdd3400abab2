// SPDX-License-Identifier: Apache-2.0

package im.app.plugin;

import im.app.plugin.spi.ExtensionContext;
import im.app.plugin.spi.LogLevel;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * Writes to the log of the server, with the id and the version of the plugin. Each <code>{}</code> in a message stands for the argument
 * at its place. An exception that is the last argument and has no place in the message is logged with its stack.
 *
 * <p>A line that the server does not log, because of its level, costs a few nanoseconds and is not sent anywhere.
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
    public void error(String message, @Nullable Object... args) {
        log(LogLevel.ERROR, message, args);
    }

    /**
     * Logs that something failed. The message is made only if it is logged.
     *
     * @param message makes the message
     */
    public void error(Supplier<String> message) {
        log(LogLevel.ERROR, message);
    }

    /**
     * Tells whether such lines are logged.
     *
     * @return whether the log of the server takes them
     */
    public boolean isErrorEnabled() {
        return context.enabled(LogLevel.ERROR);
    }

    /**
     * Logs something that somebody should look at.
     *
     * @param message the message
     * @param args what stands at its places
     */
    public void warn(String message, @Nullable Object... args) {
        log(LogLevel.WARN, message, args);
    }

    /**
     * Logs something that somebody should look at. The message is made only if it is logged.
     *
     * @param message makes the message
     */
    public void warn(Supplier<String> message) {
        log(LogLevel.WARN, message);
    }

    /**
     * Tells whether such lines are logged.
     *
     * @return whether the log of the server takes them
     */
    public boolean isWarnEnabled() {
        return context.enabled(LogLevel.WARN);
    }

    /**
     * Logs something worth knowing.
     *
     * @param message the message
     * @param args what stands at its places
     */
    public void info(String message, @Nullable Object... args) {
        log(LogLevel.INFO, message, args);
    }

    /**
     * Logs something worth knowing. The message is made only if it is logged.
     *
     * @param message makes the message
     */
    public void info(Supplier<String> message) {
        log(LogLevel.INFO, message);
    }

    /**
     * Tells whether such lines are logged.
     *
     * @return whether the log of the server takes them
     */
    public boolean isInfoEnabled() {
        return context.enabled(LogLevel.INFO);
    }

    /**
     * Logs something for whoever looks for an error.
     *
     * @param message the message
     * @param args what stands at its places
     */
    public void debug(String message, @Nullable Object... args) {
        log(LogLevel.DEBUG, message, args);
    }

    /**
     * Logs something for whoever looks for an error. The message is made only if it is logged.
     *
     * @param message makes the message
     */
    public void debug(Supplier<String> message) {
        log(LogLevel.DEBUG, message);
    }

    /**
     * Tells whether such lines are logged.
     *
     * @return whether the log of the server takes them
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
