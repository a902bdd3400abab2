// SPDX-License-Identifier: Apache-2.0

package im.app.plugin.host.log;

import im.app.plugin.host.Errors;
import java.io.PrintStream;
import java.util.function.BiConsumer;

/**
 * Redirects standard output, standard error, {@code java.util.logging} and uncaught exceptions of
 * the whole process to the log of the server.
 */
public final class Redirect {
    private static volatile Log log = (module, level, logger, message, thrown) -> {};

    private static volatile BiConsumer<Integer, String> culprits = (module, what) -> {};

    private Redirect() {}

    /**
     * Installs the redirection.
     *
     * @param to the log
     * @param ends called with the plugin that is about to end the process, and how
     * @param uncaught called with the plugin of a thread that an exception ended, and how
     */
    public static void install(Log to, BiConsumer<Integer, String> ends, BiConsumer<Integer, String> uncaught) {
        log = to;
        culprits = ends;
        NoMemory.prepare(System.err);
        PrintStream out = LineStream.printing(to, Log.INFO, "stdout");
        PrintStream err = LineStream.printing(to, Log.WARN, "stderr");
        System.setOut(out);
        System.setErr(err);
        System.setProperty("java.util.logging.config.class", LoggingSetup.class.getName());
        Thread.setDefaultUncaughtExceptionHandler((thread, thrown) -> {
            if (thrown instanceof OutOfMemoryError e && Memory.exhausted(e)) {
                NoMemory.end(e);
            }
            int module = Callers.module();
            to.write(module, Log.ERROR, "threads", "thread " + thread.getName() + " ended with an exception", thrown);
            if (module != 0) {
                uncaught.accept(module, "thread " + thread.getName() + ": " + Errors.text(thrown));
            }
        });
    }

    /**
     * Notifies the server that the plugin of the current thread is about to end the process.
     *
     * @param how the call or the error that ends it
     */
    public static void ending(String how) {
        ending(Callers.module(), how);
    }

    static void ending(int module, String how) {
        if (module != 0) {
            culprits.accept(module, how);
        }
    }

    static Log log() {
        return log;
    }
}
