// SPDX-License-Identifier: Apache-2.0

package im.app.plugin.host;

import im.app.plugin.host.load.PluginLoader;
import java.util.Collection;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.LongAdder;

/** The requests of the server that are being worked on. */
final class Calls {
    /** A request, and the thread that works on it. */
    static final class Running {
        final long id;
        final String what;
        /** Whose code runs; it is null if it is that of the host. */
        final ClassLoader loader;

        volatile Thread thread;
        final long since = System.nanoTime();

        Running(long id, String what, ClassLoader loader) {
            this.id = id;
            this.what = what;
            this.loader = loader;
        }
    }

    /** The request that a thread works on. Threads that a plugin starts work on none: they may serve many. */
    private static final ThreadLocal<Running> CURRENT = new ThreadLocal<>();

    private final ConcurrentHashMap<Long, Running> running = new ConcurrentHashMap<>();
    private final LongAdder progress = new LongAdder();

    /** Adds a request before its thread is started, and reports false if there is one with its number. */
    boolean add(Running r) {
        return running.putIfAbsent(r.id, r) == null;
    }

    /** Tells that a request has got a processor, in its thread, which works on nothing else. */
    void begun(Running r) {
        CURRENT.set(r);
        progress.increment();
    }

    /** The number of the request that this thread works on; 0 for none. */
    static long current() {
        Running r = CURRENT.get();
        return r == null ? 0 : r.id;
    }

    /** Forgets a request, which is over but for its answer. */
    void remove(Running r) {
        running.remove(r.id, r);
        progress.increment();
    }

    int size() {
        return running.size();
    }

    /** Counts the requests whose threads have, or wait for, a processor. */
    int runnable() {
        int n = 0;
        for (Running r : running.values()) {
            Thread t = r.thread;
            if (t != null && t.getState() == Thread.State.RUNNABLE) {
                n++;
            }
        }
        return n;
    }

    /** A number that changes whenever a request begins or ends. */
    long progress() {
        return progress.sum();
    }

    Collection<Running> all() {
        return running.values();
    }

    /** Interrupts the thread of a request. Nothing happens if it is over. */
    void cancel(long id) {
        Running r = running.get(id);
        if (r != null) {
            r.thread.interrupt();
        }
    }

    /** Interrupts everything that runs code of a plugin, and reports whether there was anything. */
    boolean cancelAll(PluginLoader loader) {
        boolean any = false;
        for (Running r : running.values()) {
            if (r.loader == loader) {
                any = true;
                r.thread.interrupt();
            }
        }
        return any;
    }
}
