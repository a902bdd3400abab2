// SPDX-License-Identifier: Apache-2.0

package im.app.plugin.host.log;

import java.io.PrintStream;

/** Sends everything that plugins write in the usual ways of Java to the log of the server. It is for the whole process. */
public final class Redirect {
    /** The status of a process that ends because there is no memory left. */
    private static final int NO_MEMORY = 3;

    /** The error stream of the process itself. */
    private static volatile PrintStream error = System.err;

    private static volatile Log log = (module, level, logger, message, thrown) -> {};

    private Redirect() {}

    /**
     * Begins.
     *
     * @param to the log
     */
    public static void install(Log to) {
        log = to;
        error = System.err;
        PrintStream out = LineStream.printing(to, Log.INFO, "stdout");
        PrintStream err = LineStream.printing(to, Log.WARN, "stderr");
        System.setOut(out);
        System.setErr(err);
        System.setProperty("java.util.logging.config.class", LoggingSetup.class.getName());
        Thread.setDefaultUncaughtExceptionHandler((thread, thrown) -> {
            if (thrown instanceof OutOfMemoryError e && Memory.exhausted(e)) {
                noMemory(e);
            }
            to.write(Callers.module(), Log.ERROR, "threads", "thread " + thread.getName() + " ended with an exception", thrown);
        });
    }

    /**
     * Ends the process, because there is no memory left.
     *
     * @param e what was thrown
     */
    public static void noMemory(Throwable e) {
        try {
            error.println("Terminating due to " + e);
        } catch (OutOfMemoryError again) {
            // The status says it as well.
        }
        Runtime.getRuntime().halt(NO_MEMORY);
    }

    static Log log() {
        return log;
    }
}
