// SPDX-License-Identifier: Apache-2.0

package im.app.plugin.host.log;

import java.io.PrintStream;
import java.util.function.BiConsumer;

/** Sends everything that plugins write in the usual ways of Java to the log of the server. It is for the whole process. */
public final class Redirect {
    /** The status of a process that ends because there is no memory left. */
    private static final int NO_MEMORY = 3;

    /** The error stream of the process itself. */
    private static volatile PrintStream error = System.err;

    private static volatile Log log = (module, level, logger, message, thrown) -> {};

    private static volatile BiConsumer<Integer, String> culprits = (module, what) -> {};

    private Redirect() {}

    /**
     * Begins.
     *
     * @param to the log
     * @param ends is told which plugin is about to end the process, and how
     */
    public static void install(Log to, BiConsumer<Integer, String> ends) {
        log = to;
        culprits = ends;
        error = System.err;
        Memory.reserve();
        HeapDump.prepare();
        Callers.module(); // Its classes may have no room later.
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
     * Ends the process, because there is no memory left. Only the first thread that comes here does that; others wait for it.
     *
     * @param e what was thrown
     */
    public static synchronized void noMemory(Throwable e) {
        try {
            end(e);
        } finally {
            Runtime.getRuntime().halt(NO_MEMORY); // The status says it as well.
        }
    }

    private static void end(Throwable e) {
        for (boolean more = true; more; ) {
            try {
                more = Memory.release(); // Whoever fills the heap may be faster.
                HeapDump.write();
                ending("an OutOfMemoryError");
                error.print("Terminating due to ");
                error.println(e);
                break;
            } catch (Throwable again) {
                // Without room for classes it need not be an OutOfMemoryError.
            }
        }
    }

    /**
     * Tells the server that the plugin which the current thread works for is about to end the process.
     *
     * @param how what it does
     */
    public static void ending(String how) {
        int module = Callers.module();
        if (module != 0) {
            culprits.accept(module, how);
        }
    }

    static Log log() {
        return log;
    }
}
