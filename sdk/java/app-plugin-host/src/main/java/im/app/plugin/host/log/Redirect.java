// SPDX-License-Identifier: Apache-2.0

package im.app.plugin.host.log;

import java.io.PrintStream;

/** Sends everything that plugins write in the usual ways of Java to the log of the server. It is for the whole process. */
public final class Redirect {
    private static volatile Log log = (module, level, logger, message, thrown) -> {};

    private Redirect() {}

    /**
     * Begins.
     *
     * @param to the log
     */
    public static void install(Log to) {
        log = to;
        PrintStream out = LineStream.printing(to, Log.INFO, "stdout");
        PrintStream err = LineStream.printing(to, Log.WARN, "stderr");
        System.setOut(out);
        System.setErr(err);
        System.setProperty("java.util.logging.config.class", LoggingSetup.class.getName());
        Thread.setDefaultUncaughtExceptionHandler((thread, thrown) -> {
            if (thrown instanceof OutOfMemoryError) {
                Runtime.getRuntime().halt(3);
            }
            to.write(Callers.module(), Log.ERROR, "threads", "thread " + thread.getName() + " ended with an exception", thrown);
        });
    }

    static Log log() {
        return log;
    }
}
