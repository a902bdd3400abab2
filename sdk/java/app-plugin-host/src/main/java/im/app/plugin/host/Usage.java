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
 * Counts how long plugins use processors and how much they allocate. Threads of the system that a plugin starts are measured
 * one by one. Virtual threads cannot be: what their carriers use is measured, and divided among the plugins by how long calls
 * of them ran, apart from the time in which they were seen waiting.
 */
final class Usage {
    /** The class of the threads of the system that virtual threads run on. */
    private static final String CARRIER = "jdk.internal.misc.CarrierThread";

    /** What one plugin used. */
    static final class Account {
        /** How long calls ran that have ended, in nanoseconds, since the last sample. */
        private final LongAdder ran = new LongAdder();

        private long cpu;
        private long allocated;
    }

    private record Reading(long cpu, long allocated) {}

    private final Calls calls;
    private final ThreadMXBean bean = ManagementFactory.getPlatformMXBean(ThreadMXBean.class);
    private final Map<Integer, Account> accounts = new ConcurrentHashMap<>();
    // The lock of this object guards what follows.
    private Map<Long, Reading> readings = new HashMap<>();
    private long unattributed;

    Usage(Calls calls) {
        this.calls = calls;
    }

    /** Notes that a request has ended, in its thread. */
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

    /** Closes the account of a plugin of which nothing is left. */
    void close(int module) {
        accounts.remove(module);
    }

    /** How long a plugin used processors, in nanoseconds. */
    synchronized long cpu(int module) {
        Account a = accounts.get(module);
        return a == null ? 0 : a.cpu;
    }

    /** How many bytes a plugin allocated. */
    synchronized long allocated(int module) {
        Account a = accounts.get(module);
        return a == null ? 0 : a.allocated;
    }

    /** How long virtual threads used processors for which no call of a plugin ran, in nanoseconds. */
    synchronized long unattributed() {
        return unattributed;
    }

    /** Adds what was used since the last sample. */
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
                continue; // It has ended.
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

    /** Divides what carriers used among those whose calls ran. A call uses no more than the time that it runs. */
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
