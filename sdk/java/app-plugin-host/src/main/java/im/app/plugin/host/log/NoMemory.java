// SPDX-License-Identifier: Apache-2.0

package im.app.plugin.host.log;

import java.io.PrintStream;
import java.util.concurrent.atomic.AtomicReference;
import java.util.concurrent.locks.LockSupport;

/**
 * Ends the process when its memory is exhausted, on a thread that exists from the start: a waiting
 * virtual thread, for example one that sends a frame, may never run again without memory for
 * classes.
 */
public final class NoMemory {
    /** The exit status of the process. */
    private static final int STATUS = 3;

    private record Cause(Throwable thrown, int module) {}

    private static final AtomicReference<Cause> CAUSE = new AtomicReference<>();

    private static volatile Thread thread;
    private static volatile PrintStream error = System.err;

    private NoMemory() {}

    /**
     * Allocates the resources for ending the process while there is memory.
     *
     * @param to the error stream of the process itself
     */
    static void prepare(PrintStream to) {
        error = to;
        Memory.reserve();
        HeapDump.prepare();
        Callers.module(); // Loads its classes, which may fail later.
        new Cause(null, 0);
        thread = Thread.ofPlatform().name("no memory").daemon().start(NoMemory::run);
    }

    /**
     * Ends the process and does not return. Only the first call has an effect.
     *
     * @param e the exception
     */
    public static void end(Throwable e) {
        Thread t = thread;
        if (t == null) {
            Runtime.getRuntime().halt(STATUS);
        }
        for (boolean more = true; more && CAUSE.get() == null; ) {
            try {
                more = Memory.release(); // Another thread may use the memory first.
                CAUSE.compareAndSet(null, new Cause(e, Callers.module()));
            } catch (Throwable again) {
                // Without memory for classes, it may be an error other than OutOfMemoryError.
            }
        }
        if (CAUSE.get() == null) {
            Runtime.getRuntime().halt(STATUS); // The status reports it, too.
        }
        while (true) {
            LockSupport.unpark(t);
            LockSupport.park(CAUSE);
            Thread.interrupted(); // park returns at once in an interrupted thread.
        }
    }

    private static void run() {
        while (CAUSE.get() == null) {
            LockSupport.park(CAUSE);
        }
        try {
            tell(CAUSE.get());
        } finally {
            Runtime.getRuntime().halt(STATUS);
        }
    }

    private static void tell(Cause cause) {
        for (boolean more = true; more; ) {
            try {
                more = Memory.release();
                HeapDump.write();
                Redirect.ending(cause.module, "an OutOfMemoryError");
                error.print("Terminating due to ");
                error.println(cause.thrown);
                break;
            } catch (Throwable again) {
                // Retry with more of the reserve.
            }
        }
    }
}
