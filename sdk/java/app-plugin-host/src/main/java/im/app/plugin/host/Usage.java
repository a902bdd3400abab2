// SPDX-License-Identifier: Apache-2.0

package im.app.plugin.host;

import com.sun.management.ThreadMXBean;
import im.app.plugin.host.load.PluginLoader;
import java.lang.management.ManagementFactory;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.LongAdder;

/**
 * Measures the processor time and the allocations of plugins. Platform threads of a plugin are
 * measured individually. Virtual threads cannot be measured: the usage of their carriers is divided
 * among the plugins in proportion to the running time of their calls, excluding observed waiting
 * time.
 */
final class Usage {
    /** The class of the platform threads that carry virtual threads. */
    private static final String CARRIER = "jdk.internal.misc.CarrierThread";

    /** The usage of one plugin. */
    static final class Account {
        /** The running time of ended calls, in nanoseconds, since the last sample. */
        private final LongAdder ran = new LongAdder();

        private long cpu;
        private long allocated;
    }

    private record Reading(long cpu, long allocated) {}

    private final Calls calls;
    private final ThreadMXBean bean = ManagementFactory.getPlatformMXBean(ThreadMXBean.class);
    private final Map<Integer, Account> accounts = new ConcurrentHashMap<>();
    // The lock of this object guards the following fields.
    private Map<Long, Reading> readings = new HashMap<>();
    private long unattributed;

    Usage(Calls calls) {
        this.calls = calls;
    }

    /** Records that a request has ended; called in its thread. */
    void ended(Calls.Running r) {
        if (r.loader instanceof PluginLoader l) {
            Account a = accounts.get(l.module());
            if (a != null) {
                a.ran.add(r.count(System.nanoTime()));
            }
        }
    }

    /** Opens the account of a plugin. */
    void open(int module) {
        accounts.put(module, new Account());
    }

    /** Closes the account of a plugin that has ended completely. */
    void close(int module) {
        accounts.remove(module);
    }

    /** Returns the processor time of a plugin, in nanoseconds. */
    synchronized long cpu(int module) {
        Account a = accounts.get(module);
        return a == null ? 0 : a.cpu;
    }

    /** Returns the number of bytes that a plugin has allocated. */
    synchronized long allocated(int module) {
        Account a = accounts.get(module);
        return a == null ? 0 : a.allocated;
    }

    /**
     * Returns the processor time of virtual threads while no call of a plugin ran, in nanoseconds.
     */
    synchronized long unattributed() {
        return unattributed;
    }

    /** Adds the usage since the last sample. */
    synchronized void sample() {
        Thread[] threads = Threads.platform();
        long[] ids = new long[threads.length];
        for (int i = 0; i < threads.length; i++) {
            ids[i] = threads[i].threadId();
        }
        long[] cpu = bean.getThreadCpuTime(ids);
        long[] allocated = bean.getThreadAllocatedBytes(ids);
        Map<Long, Reading> next = new HashMap<>();
        long carried = 0;
        long carriedBytes = 0;
        for (int i = 0; i < threads.length; i++) {
            if (cpu[i] < 0) {
                continue; // The thread has ended.
            }
            Reading before = readings.getOrDefault(ids[i], new Reading(0, 0));
            next.put(ids[i], new Reading(cpu[i], allocated[i]));
            long used = Math.max(cpu[i] - before.cpu(), 0);
            long bytes = Math.max(allocated[i] - before.allocated(), 0);
            if (CARRIER.equals(threads[i].getClass().getName())) {
                carried += used;
                carriedBytes += bytes;
            } else if (threads[i].getContextClassLoader() instanceof PluginLoader l) {
                Account a = accounts.get(l.module());
                if (a != null) {
                    a.cpu += used;
                    a.allocated += bytes;
                }
            }
        }
        readings = next;
        divide(carried, carriedBytes);
    }

    /**
     * Divides the usage of carriers among plugins by the running time of their calls, which also
     * limits their processor time.
     */
    private void divide(long cpu, long bytes) {
        long now = System.nanoTime();
        for (Calls.Running r : calls.all()) {
            if (r.loader instanceof PluginLoader l) {
                Account a = accounts.get(l.module());
                if (a != null) {
                    a.ran.add(r.count(now));
                }
            }
        }
        List<Account> all = new ArrayList<>(accounts.values());
        long[] ran = new long[all.size()];
        double sum = 0;
        for (int i = 0; i < ran.length; i++) {
            ran[i] = all.get(i).ran.sumThenReset();
            sum += ran[i];
        }
        long left = cpu;
        for (int i = 0; i < ran.length; i++) {
            if (ran[i] > 0) {
                double part = ran[i] / sum;
                long used = Math.min((long) (cpu * part), ran[i]);
                all.get(i).cpu += used;
                all.get(i).allocated += (long) (bytes * part);
                left -= used;
            }
        }
        unattributed += left;
    }
}
