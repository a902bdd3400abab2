// SPDX-License-Identifier: Apache-2.0

package im.app.plugin.host.log;

import java.lang.management.ManagementFactory;
import java.lang.management.MemoryPoolMXBean;
import java.lang.management.MemoryType;
import java.lang.management.MemoryUsage;
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

    /** How long the outcome of a look is good for, in nanoseconds. */
    private static final long FRESH = 500_000_000L;

    /** The pools of classes, which have a limit of their own. They take long to find, so that only who needs them does. */
    private static final class Classes {
        static final List<MemoryPoolMXBean> POOLS = ManagementFactory.getMemoryPoolMXBeans().stream()
                .filter(p -> p.getType() == MemoryType.NON_HEAP && (p.getName().equals("Metaspace") || p.getName().equals("Compressed Class Space")))
                .toList();
    }

    private static boolean looked;
    private static long when;
    private static boolean outcome;

    private Memory() {}

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
        } catch (OutOfMemoryError again) {
            return true; // There is not even enough to find out.
        }
    }

    private static synchronized boolean look(boolean classes) {
        if (!isShort(PLENTY, classes)) {
            return false;
        }
        if (!looked || System.nanoTime() - when > FRESH) {
            System.gc();
            outcome = isShort(LITTLE, classes);
            looked = true;
            when = System.nanoTime();
        }
        return outcome;
    }

    private static boolean isShort(int part, boolean classes) {
        // The heap has what the collector could make of it, which can be less than the most that it may have.
        Runtime r = Runtime.getRuntime();
        if (r.freeMemory() < r.totalMemory() / part) {
            return true;
        }
        if (!classes) {
            return false;
        }
        for (MemoryPoolMXBean pool : Classes.POOLS) {
            MemoryUsage u = pool.getUsage();
            if (u != null && u.getMax() > 0 && u.getMax() - u.getUsed() < u.getMax() / part) {
                return true;
            }
        }
        return false;
    }
}
