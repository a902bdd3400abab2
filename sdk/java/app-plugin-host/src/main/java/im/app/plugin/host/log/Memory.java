// SPDX-License-Identifier: Apache-2.0

package im.app.plugin.host.log;

import java.io.IOException;
import java.io.InputStream;
import java.lang.invoke.MethodHandles;
import java.lang.management.GarbageCollectorMXBean;
import java.lang.management.ManagementFactory;
import java.util.List;

/**
 * Determines whether the process is out of memory. An {@link OutOfMemoryError} is not sufficient: a
 * plugin may allocate an array that exceeds every limit, throw the error itself, or have released
 * everything by the time it is caught.
 */
public final class Memory {
    /** If at least this fraction of the heap (1/n) is free, memory is not short. */
    private static final int PLENTY = 4;

    /**
     * If less than this fraction of the heap (1/n) is free after a collection, part of which the
     * collector needs, the process can hardly continue.
     */
    private static final int LITTLE = 20;

    /**
     * If this part of the time was spent on collections and less than an eighth of the heap is
     * free, the process makes no progress.
     */
    private static final double MOST = 0.9;

    private static final int SCARCE = 8;

    /** How long collections must have continued like that, in nanoseconds. */
    private static final long LONG = 2_000_000_000L;

    /**
     * Memory that is released in parts when the process ends for lack of memory, so that it can
     * report the reason.
     */
    private static final int RESERVED = 1 << 20;

    private static final int PARTS = 16;

    /** The number of classes that must fit. */
    private static final int PROBES = 8;

    /** How long a result is valid, in nanoseconds. */
    private static final long FRESH = 500_000_000L;

    /** A class for testing whether another one fits. It is read while there is memory. */
    private static volatile byte[] probe;

    private static byte[][] reserve;
    private static int released;

    private static boolean looked;
    private static boolean lookedAtClasses;
    private static long when;
    private static boolean outcome;

    private Memory() {}

    /** Reserves memory that the end of the process needs. */
    static void reserve() {
        reserve = new byte[PARTS][(int) Math.min(RESERVED, Runtime.getRuntime().maxMemory() / 32) / PARTS];
        try (InputStream in = Memory.class.getResourceAsStream("ExitNotice.class")) {
            probe = in == null ? null : in.readAllBytes();
        } catch (IOException e) {
            // Then only the heap is checked.
        }
    }

    /**
     * Releases a part of that memory.
     *
     * @return whether there is more of it
     */
    static boolean release() {
        if (released < PARTS) {
            reserve[released++] = null;
        }
        return released < PARTS;
    }

    /**
     * Detects a process that spends nearly all time on garbage collections that free hardly
     * anything: no error reports that, and every call takes forever. Used by one thread.
     */
    public static final class Thrashing {
        private final List<GarbageCollectorMXBean> collectors = ManagementFactory.getGarbageCollectorMXBeans();
        private long since = System.nanoTime();
        private long before = collecting();

        /** Starts the detection. */
        public Thrashing() {}

        /**
         * Checks; must be called several times per second.
         *
         * @return whether the process cannot continue
         */
        public boolean look() {
            long elapsed = System.nanoTime() - since;
            if (elapsed < LONG) {
                return false;
            }
            long now = collecting();
            boolean busy = (now - before) * 1e6 >= MOST * elapsed;
            before = now;
            since += elapsed;
            return busy && isShort(SCARCE);
        }

        /** Returns the time spent on collections, in milliseconds. */
        private long collecting() {
            long sum = 0;
            for (GarbageCollectorMXBean c : collectors) {
                sum += Math.max(c.getCollectionTime(), 0);
            }
            return sum;
        }
    }

    /**
     * Returns whether so little memory is left that the process cannot continue.
     *
     * @param e the error
     * @return false if there is enough, even if that required a collection
     */
    public static boolean exhausted(OutOfMemoryError e) {
        try {
            String message = e.getMessage();
            return look(message != null && (message.contains("etaspace") || message.contains("class space")));
        } catch (VirtualMachineError | LinkageError again) {
            return true; // Not even enough to determine it.
        }
    }

    private static synchronized boolean look(boolean classes) {
        if (!classes && !isShort(PLENTY)) {
            return false;
        }
        if (!looked || classes && !lookedAtClasses || System.nanoTime() - when > FRESH) {
            System.gc();
            outcome = isShort(LITTLE) || classes && !hasRoomForClasses();
            looked = true;
            lookedAtClasses = classes;
            when = System.nanoTime();
        }
        return outcome;
    }

    private static boolean isShort(int part) {
        // The heap is as large as the collector could make it, which can be less than its maximum.
        Runtime r = Runtime.getRuntime();
        return r.freeMemory() < r.totalMemory() / part;
    }

    /**
     * The memory for classes can be exhausted long before its usage reaches the limit, so only an
     * attempt is conclusive.
     */
    private static boolean hasRoomForClasses() {
        byte[] code = probe;
        if (code == null) {
            return true;
        }
        try {
            for (int i = 0; i < PROBES; i++) {
                MethodHandles.lookup().defineHiddenClass(code, false);
            }
            return true;
        } catch (VirtualMachineError | LinkageError e) {
            return false;
        } catch (IllegalAccessException e) {
            return true;
        }
    }
}
