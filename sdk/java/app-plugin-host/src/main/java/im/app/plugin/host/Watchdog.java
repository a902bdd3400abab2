// SPDX-License-Identifier: Apache-2.0

package im.app.plugin.host;

import im.app.plugin.host.log.Memory;
import im.app.plugin.host.log.NoMemory;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Consumer;

/**
 * Sees to it that calls get a processor when plugins hold all those that virtual threads share: a virtual thread that
 * computes without end is never made to pause. The scheduler gets more threads then, between which the operating system
 * switches, and goes back when they are no longer needed.
 */
final class Watchdog {
    /** The scheduler of virtual threads. */
    interface Scheduler {
        /** Reports whether it can be asked and changed at all. */
        boolean available();

        int parallelism();

        /** Changes the parallelism, and reports false if it cannot be that much. */
        boolean parallelism(int n);

        /** Tells how many virtual threads wait for a processor. */
        long queued();

        /** Tells how many virtual threads have one. */
        long mounted();
    }

    private static final long TICK = TimeUnit.MILLISECONDS.toNanos(10);
    /** Every so many ticks it looks at each call and at the memory. */
    private static final int THOROUGH = 10;
    /** So many ticks without any progress are a stall. */
    private static final int STALLED = 2;
    /** So many ticks with plugins that hold more threads than usual are worth a warning. */
    private static final int HELD = 20;
    /** So many ticks without anybody waiting let the scheduler go back. */
    private static final int QUIET = 200;

    private final Calls calls;
    private final Scheduler scheduler;
    private final Consumer<String> warn;
    private final Thread thread = Thread.ofPlatform().name("watchdog").daemon().unstarted(this::run);
    private volatile boolean asleep;
    private volatile boolean stopped;

    // Only the thread of the watchdog uses these.
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

    /** Tells that there is a request to watch over. */
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
                // Memory is short, or was when a class was needed: the next look may succeed.
            }
        }
    }

    /** Looks once. */
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
