// SPDX-License-Identifier: Apache-2.0

package im.app.plugin.host;

import im.app.plugin.host.log.Memory;
import im.app.plugin.host.log.NoMemory;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Consumer;

/**
 * Ensures that calls get a processor when plugins occupy all carriers of virtual threads: a virtual
 * thread that computes endlessly is never preempted. The watchdog then increases the parallelism of
 * the scheduler, so that the operating system switches between more carriers, and restores it when
 * they are no longer needed.
 */
final class Watchdog {
    /** The scheduler of virtual threads. */
    interface Scheduler {
        /** Returns whether it can be inspected and configured at all. */
        boolean available();

        int parallelism();

        /** Sets the parallelism. Returns false if that fails. */
        boolean parallelism(int n);

        /** Returns the number of virtual threads that wait for a carrier. */
        long queued();

        /** Returns the number of mounted virtual threads. */
        long mounted();
    }

    private static final long TICK = TimeUnit.MILLISECONDS.toNanos(10);
    /** The number of ticks between checks of each call and of the memory. */
    private static final int THOROUGH = 10;
    /** The number of ticks without progress that count as a stall. */
    private static final int STALLED = 2;
    /**
     * The number of consecutive ticks with more mounted threads than the usual parallelism before a
     * warning.
     */
    private static final int HELD = 20;
    /** The number of ticks without waiting threads before the parallelism is restored. */
    private static final int QUIET = 200;

    private final Calls calls;
    private final Scheduler scheduler;
    private final Consumer<String> warn;
    private final Thread thread = Thread.ofPlatform().name("watchdog").daemon().unstarted(this::run);
    private volatile boolean asleep;
    private volatile boolean stopped;

    // Used by the watchdog's thread only.
    private int ticks;
    private long seen;
    private int still;
    private int held;
    private int quiet;
    private int usual;
    private boolean warned;
    private Memory.Thrashing thrashing;

    Watchdog(Calls calls, Scheduler scheduler, Consumer<String> warn) {
        this.calls = calls;
        this.scheduler = scheduler;
        this.warn = warn;
    }

    void start() {
        thread.start();
    }

    void stop() {
        stopped = true;
        LockSupport.unpark(thread);
    }

    /** Wakes the watchdog up. Called when a request starts. */
    void watch() {
        if (asleep) {
            asleep = false;
            LockSupport.unpark(thread);
        }
    }

    private void run() {
        while (!stopped) {
            if (calls.size() == 0 && usual == 0) {
                asleep = true;
                if (calls.size() == 0 && !stopped) {
                    LockSupport.park(this);
                }
                asleep = false;
            }
            LockSupport.parkNanos(TICK);
            try {
                tick();
            } catch (Error e) {
                // Out of memory, or a class could not be loaded for lack of it: the next tick may
                // succeed.
            }
        }
    }

    /** Checks once. */
    void tick() {
        if (++ticks % THOROUGH == 0) {
            calls.observe();
            lookAtMemory();
        }
        long progress = calls.progress();
        still = progress == seen && calls.size() > 0 ? still + 1 : 0;
        seen = progress;
        if (still >= STALLED) {
            stalled();
        }
        if (usual > 0) {
            calmDown();
        }
    }

    private void lookAtMemory() {
        if (thrashing == null) {
            thrashing = new Memory.Thrashing();
        } else if (thrashing.look()) {
            NoMemory.end(new OutOfMemoryError("the heap is full, and collections find next to nothing"));
        }
    }

    private void stalled() {
        if (!scheduler.available()) {
            if (!warned && calls.runnable() > Runtime.getRuntime().availableProcessors()) {
                warned = true;
                warn.accept("plugins hold all processors and other calls wait: with Java 24 or newer the host could help them");
            }
            return;
        }
        long queued = scheduler.queued();
        if (queued == 0) {
            return;
        }
        still = 0;
        int now = scheduler.parallelism();
        if (scheduler.parallelism(now + (int) Math.clamp(queued, now, 3L * now))) {
            if (usual == 0) {
                usual = now;
                held = 0;
            }
            quiet = 0;
        }
    }

    private void calmDown() {
        long mounted = scheduler.mounted();
        held = mounted > usual ? held + 1 : 0;
        if (held == HELD) {
            warn.accept("plugins hold all processors and other calls wait: virtual threads get more threads of the system");
        }
        quiet = scheduler.queued() == 0 && mounted <= usual ? quiet + 1 : 0;
        if (quiet >= QUIET && scheduler.parallelism(usual)) {
            usual = 0;
        }
    }
}
