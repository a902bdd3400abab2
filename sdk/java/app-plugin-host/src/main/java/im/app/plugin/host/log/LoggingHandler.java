// SPDX-License-Identifier: Apache-2.0

package im.app.plugin.host.log;

import java.util.logging.Formatter;
import java.util.logging.Handler;
import java.util.logging.Level;
import java.util.logging.LogRecord;
import java.util.logging.SimpleFormatter;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** Forwards records of {@code java.util.logging} to the log of the server. */
public final class LoggingHandler extends Handler {
    private static final Pattern EXIT = Pattern.compile("Runtime\\.exit\\(\\) called with status: (-?\\d+)");

    private final Formatter formatter = new SimpleFormatter();

    /** Called by java.util.logging through reflection. */
    public LoggingHandler() {
        setLevel(Level.ALL);
    }

    @Override
    public void publish(LogRecord record) {
        if (record == null || !isLoggable(record)) {
            return;
        }
        if ("java.lang.Runtime".equals(record.getLoggerName())) {
            Matcher m = EXIT.matcher(String.valueOf(record.getMessage()));
            if (m.find()) {
                ExitNotice.exiting(Integer.parseInt(m.group(1)), Callers.module());
            }
            return;
        }
        String name = record.getLoggerName();
        Redirect.log().write(Callers.module(), level(record.getLevel()), name == null ? "" : name, formatter.formatMessage(record), record.getThrown());
    }

    private static int level(Level level) {
        int value = level.intValue();
        if (value >= Level.SEVERE.intValue()) {
            return Log.ERROR;
        }
        if (value >= Level.WARNING.intValue()) {
            return Log.WARN;
        }
        return value >= Level.INFO.intValue() ? Log.INFO : Log.DEBUG;
    }

    @Override
    public void flush() {
        // Nothing is buffered.
    }

    @Override
    public void close() {
        // Nothing to close: the host owns the log.
    }
}
