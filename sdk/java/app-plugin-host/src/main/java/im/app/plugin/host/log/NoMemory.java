// SPDX-License-Identifier: Apache-2.0

package im.app.plugin.host.log;

import java.io.PrintStream;
import java.util.concurrent.atomic.AtomicReference;
import java.util.concurrent.locks.LockSupport;

/**
 * Ends the process when there is no memory left. A thread that is there from the beginning does that: a virtual thread that
 * waits, be it for the server to take a frame, may never run again without room for classes.
 */
public final class NoMemory {
    /** The status of the process. */
    private static final int STATUS = 3;

    private record Cause(Throwable thrown, int module) {}

    private static final AtomicReference<Cause> CAUSE = new AtomicReference<>();

    private static volatile Thread thread;
    private static volatile PrintStream error = System.err;

    private NoMemory() {}

    /**
     * Sets aside what the end needs, while there is memory.
     *
     * @param to the error stream of the process itself
     */
    static void prepare(PrintStream to) {
        error = to;
        Memory.reserve();
        HeapDump.prepare();
        Callers.module(); // Its classes may have no room later.
        new Cause(null, 0);
        thread = Thread.ofPlatform().name("no memory").daemon().start(NoMemory::run);
    }

    /**
     * Ends the process and does not return. The first cause counts.
     *
     * @param e what was thrown
     */
    public static void end(Throwable e) {
        Thread t = thread;
        if (t == null) {
            Runtime.getRuntime().halt(STATUS);
        }
        for (boolean more = true; more && CAUSE.get() == null; ) {
            try {
                more = Memory.release(); // Whoever fills the heap may be faster.
                CAUSE.compareAndSet(null, new Cause(e, Callers.module()));
            } catch (Throwable again) {
                // Without room for classes it need not be an OutOfMemoryError.
            }
        }
        if (CAUSE.get() == null) {
            Runtime.getRuntime().halt(STATUS); // The status says it as well.
        }
        while (true) {
            LockSupport.unpark(t);
            LockSupport.park(CAUSE);
            Thread.interrupted(); // An interrupted thread would not wait.
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
                // As above.
            }
        }
    }
}
