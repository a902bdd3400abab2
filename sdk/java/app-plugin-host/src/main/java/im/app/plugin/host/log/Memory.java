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
     * If less than this fraction of the heap (1/n) is free after a collection, memory is exhausted:
     * the collector itself needs a part of it.
     */
    private static final int LITTLE = 20;

    /**
     * If this fraction of the time is spent on collections and less than an eighth of the heap is
     * free, the process makes no progress.
     */
    private static final double MOST = 0.9;

    private static final int SCARCE = 8;

    /** The minimum time over which that fraction is measured, in nanoseconds. */
    private static final long LONG = 2_000_000_000L;

    /**
     * The size of the reserve, in bytes. It is released in parts when the process ends for lack of
     * memory, so that it can report the reason.
     */
    private static final int RESERVED = 1 << 20;

    private static final int PARTS = 16;

    /** The number of classes that must still be definable. */
    private static final int PROBES = 8;

    /** How long a result is valid, in nanoseconds. */
    private static final long FRESH = 500_000_000L;

    /**
     * The class file for testing whether a class can be defined, read while there is memory; null
     * if it cannot be read.
     */
    private static volatile byte[] probe;

    private static byte[][] reserve;
    private static int released;

    private static boolean looked;
    private static boolean lookedAtClasses;
    private static long when;
    private static boolean outcome;

    private Memory() {}

    /** Reserves memory for ending the process. */
    static void reserve() {
        reserve = new byte[PARTS][(int) Math.min(RESERVED, Runtime.getRuntime().maxMemory() / 32) / PARTS];
        try (InputStream in = Memory.class.getResourceAsStream("ExitNotice.class")) {
            probe = in == null ? null : in.readAllBytes();
        } catch (IOException e) {
            // Only the heap is checked then.
        }
    }

    /**
     * Releases a part of the reserve.
     *
     * @return whether a part is left
     */
    static boolean release() {
        if (released < PARTS) {
            reserve[released++] = null;
        }
        return released < PARTS;
    }

    /**
     * Detects thrashing: garbage collections take nearly all the time and free hardly any memory.
     * No error reports that, and calls make no progress. Not safe for concurrent use.
     */
    public static final class Thrashing {
        private final List<GarbageCollectorMXBean> collectors = ManagementFactory.getGarbageCollectorMXBeans();
        private long since = System.nanoTime();
        private long before = collecting();

        /** Starts the detection. */
        public Thrashing() {}

        /**
         * Checks for thrashing. Must be called several times per second.
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
     * @return false if enough is left, even if only after a collection
     */
    public static boolean exhausted(OutOfMemoryError e) {
        try {
            String message = e.getMessage();
            return look(message != null && (message.contains("etaspace") || message.contains("class space")));
        } catch (VirtualMachineError | LinkageError again) {
            return true; // Not even enough memory to determine it.
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
     * Returns whether classes can still be defined, by defining some: the memory for classes can be
     * exhausted long before its usage reaches the limit.
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
