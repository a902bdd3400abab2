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

        /** The number of the method of an extension point that is called; -1 for none. */
        final int method;

        volatile Thread thread;
        final long since = System.nanoTime();
        /** When the server gave it up; 0 if it did not. */
        private volatile long cancelled;
        // How long it was seen waiting, how much of its time was counted, and since when it computes although it was given up.
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

        /** Returns the time that it did not wait and that was not counted yet, in nanoseconds. */
        synchronized long count(long now) {
            long ran = Math.max(now - since - waited, counted);
            long more = ran - counted;
            counted = ran;
            return more;
        }

        boolean isCancelled() {
            return cancelled != 0;
        }

        /** How long it has been computing since it was given up, in nanoseconds. */
        synchronized long spinning(long now) {
            return busy == 0 ? 0 : now - busy;
        }
    }

    /** The request that a thread works on. Threads that a plugin starts work on none: they may serve many. */
    private static final ThreadLocal<Running> CURRENT = new ThreadLocal<>();

    private final ConcurrentHashMap<Long, Running> running = new ConcurrentHashMap<>();
    private final LongAdder progress = new LongAdder();
    /** When requests were observed last. Only the watchdog uses it. */
    private long observed = System.nanoTime();

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

    /** The number of the method of an extension point that this thread was started to call; -1 for none. */
    static int currentMethod() {
        Running r = CURRENT.get();
        return r == null ? -1 : r.method;
    }

    /** Forgets a request, which is over but for its answer. */
    void remove(Running r) {
        running.remove(r.id, r);
        progress.increment();
    }

    /** Looks which requests wait and which compute. Called by the watchdog from time to time. */
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
            giveUp(r);
        }
    }

    /** Interrupts everything that runs code of a plugin, and reports whether there was anything. */
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
