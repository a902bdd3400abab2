// SPDX-License-Identifier: Apache-2.0

package im.app.plugin.host;

import im.app.plugin.host.load.PluginLoader;
import java.util.Collection;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.LongAdder;

/** Tracks the running requests of the server. */
final class Calls {
    /** A request, and the thread that runs it. */
    static final class Running {
        final long id;
        final String what;
        /** The loader of the plugin whose code runs; null for code of the host. */
        final ClassLoader loader;

        /** The number of the called method of an extension point; -1 for none. */
        final int method;

        volatile Thread thread;
        final long since = System.nanoTime();
        /** The {@link System#nanoTime} of its cancellation; 0 if it is not cancelled. */
        private volatile long cancelled;
        // The observed waiting time, the running time counted so far, and the time since which it
        // has been computing after its cancellation; 0 if it is not. Guarded by this.
        private long waited;
        private long counted;
        private long busy;

        Running(long id, String what, ClassLoader loader) {
            this(id, what, loader, -1);
        }

        Running(long id, String what, ClassLoader loader, int method) {
            this.id = id;
            this.what = what;
            this.loader = loader;
            this.method = method;
        }

        private synchronized void observe(long last, long now) {
            Thread t = thread;
            if (t == null || t.getState() != Thread.State.RUNNABLE) {
                waited += now - (last - since > 0 ? last : since);
                busy = 0;
            } else if (cancelled != 0 && busy == 0) {
                busy = now;
            }
        }

        /** Returns the running time, without waiting, since the last count, in nanoseconds. */
        synchronized long count(long now) {
            long ran = Math.max(now - since - waited, counted);
            long more = ran - counted;
            counted = ran;
            return more;
        }

        boolean isCancelled() {
            return cancelled != 0;
        }

        /** Returns the time that it has been computing since its cancellation, in nanoseconds. */
        synchronized long spinning(long now) {
            return busy == 0 ? 0 : now - busy;
        }
    }

    /**
     * The request that a thread runs; null in threads started by plugins, which may serve several.
     */
    private static final ThreadLocal<Running> CURRENT = new ThreadLocal<>();

    private final ConcurrentHashMap<Long, Running> running = new ConcurrentHashMap<>();
    private final LongAdder progress = new LongAdder();
    /** When requests were last observed. Used by the watchdog only. */
    private long observed = System.nanoTime();

    /** Adds a request before its thread is started, and returns false if its number is in use. */
    boolean add(Running r) {
        return running.putIfAbsent(r.id, r) == null;
    }

    /** Records that a request has started to run. Called in its thread, which runs nothing else. */
    void begun(Running r) {
        CURRENT.set(r);
        progress.increment();
    }

    /** Returns the number of the request that this thread runs; 0 if there is none. */
    static long current() {
        Running r = CURRENT.get();
        return r == null ? 0 : r.id;
    }

    /**
     * Returns the number of the extension point method that this thread was started to call; -1 if
     * there is none.
     */
    static int currentMethod() {
        Running r = CURRENT.get();
        return r == null ? -1 : r.method;
    }

    /** Removes a request that has ended, before its response is sent. */
    void remove(Running r) {
        running.remove(r.id, r);
        progress.increment();
    }

    /** Samples which requests wait and which compute. Called periodically by the watchdog. */
    void observe() {
        long now = System.nanoTime();
        for (Running r : running.values()) {
            r.observe(observed, now);
        }
        observed = now;
    }

    int size() {
        return running.size();
    }

    /** Returns the number of requests whose threads are runnable. */
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

    /** Returns a counter that is incremented whenever a request begins or ends. */
    long progress() {
        return progress.sum();
    }

    Collection<Running> all() {
        return running.values();
    }

    /** Interrupts the thread of a request. Does nothing if the request has ended. */
    void cancel(long id) {
        Running r = running.get(id);
        if (r != null) {
            giveUp(r);
        }
    }

    /** Interrupts all requests that run code of a plugin. Returns whether there were any. */
    boolean cancelAll(PluginLoader loader) {
        boolean any = false;
        for (Running r : running.values()) {
            if (r.loader == loader) {
                any = true;
                giveUp(r);
            }
        }
        return any;
    }

    private static void giveUp(Running r) {
        if (r.cancelled == 0) {
            r.cancelled = Math.max(System.nanoTime(), 1);
        }
        r.thread.interrupt();
    }
}
