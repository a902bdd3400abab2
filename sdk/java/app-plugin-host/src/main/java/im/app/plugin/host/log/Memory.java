// SPDX-License-Identifier: Apache-2.0

package im.app.plugin.host.log;

import java.io.IOException;
import java.io.InputStream;
import java.lang.invoke.MethodHandles;
import java.lang.management.GarbageCollectorMXBean;
import java.lang.management.ManagementFactory;
import java.util.List;

/**
 * Tells whether the process is out of memory. An {@link OutOfMemoryError} alone does not say that: a plugin may ask for an
 * array that is larger than any, throw one itself, or have let go of everything by the time it is caught.
 */
public final class Memory {
    /** With a quarter of the heap free nothing is short. */
    private static final int PLENTY = 4;

    /** With less than a twentieth of the heap free after a collection, part of which the collector needs, little goes on. */
    private static final int LITTLE = 20;

    /** When this part of the time was spent on collections and less than an eighth of the heap is free, nothing else goes on. */
    private static final double MOST = 0.9;

    private static final int SCARCE = 8;

    /** How long collections must have gone on like that, in nanoseconds. */
    private static final long LONG = 2_000_000_000L;

    /** What is given back in parts when the process ends for want of memory, so that it can say why. */
    private static final int RESERVED = 1 << 20;

    private static final int PARTS = 16;

    /** So many classes must have room. */
    private static final int PROBES = 8;

    /** How long the outcome of a look is good for, in nanoseconds. */
    private static final long FRESH = 500_000_000L;

    /** A class to try with whether there is room for one more. It is read while there is. */
    private static volatile byte[] probe;

    private static byte[][] reserve;
    private static int released;

    private static boolean looked;
    private static boolean lookedAtClasses;
    private static long when;
    private static boolean outcome;

    private Memory() {}

    /** Sets memory aside that the end of the process needs. */
    static void reserve() {
        reserve = new byte[PARTS][(int) Math.min(RESERVED, Runtime.getRuntime().maxMemory() / 32) / PARTS];
        try (InputStream in = Memory.class.getResourceAsStream("ExitNotice.class")) {
            probe = in == null ? null : in.readAllBytes();
        } catch (IOException e) {
            // Then only the heap counts.
        }
    }

    /**
     * Gives a part of that memory back.
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
     * Notices a process that does little else than to collect garbage and hardly finds any: nobody is told by an error that there is
     * too little memory then, and every call takes for ever. Used by one thread.
     */
    public static final class Thrashing {
        private final List<GarbageCollectorMXBean> collectors = ManagementFactory.getGarbageCollectorMXBeans();
        private long since = System.nanoTime();
        private long before = collecting();

        /** Begins to look. */
        public Thrashing() {}

        /**
         * Looks, which must happen several times in a second.
         *
         * @return whether the process cannot go on
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

        /** How long collections took, in milliseconds. */
        private long collecting() {
            long sum = 0;
            for (GarbageCollectorMXBean c : collectors) {
                sum += Math.max(c.getCollectionTime(), 0);
            }
            return sum;
        }
    }

    /**
     * Reports whether so little memory is left that the process cannot go on.
     *
     * @param e what was thrown
     * @return false if there is enough, also if that needed a collection
     */
    public static boolean exhausted(OutOfMemoryError e) {
        try {
            String message = e.getMessage();
            return look(message != null && (message.contains("etaspace") || message.contains("class space")));
        } catch (VirtualMachineError | LinkageError again) {
            return true; // There is not even enough to find out.
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
        // The heap has what the collector could make of it, which can be less than the most that it may have.
        Runtime r = Runtime.getRuntime();
        return r.freeMemory() < r.totalMemory() / part;
    }

    /** The room for classes can be used up long before as much is in use as there may be, so that only trying tells. */
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
