// SPDX-License-Identifier: Apache-2.0

package im.app.plugin.host.wire;

import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.locks.LockSupport;

/**
 * A lock for short critical sections that stays usable if the stack of a waiting thread overflows:
 * unmounting a virtual thread copies its stack, which can itself overflow a deep stack, and the
 * locks of java.util.concurrent then lose track of their waiters. This lock has no queue of
 * waiters.
 */
public final class ShortLock {
    private static final int SPINS = 100;
    private static final long PAUSE = 50_000;

    private final AtomicBoolean held = new AtomicBoolean();

    /** Creates an unlocked lock. */
    public ShortLock() {}

    /** Acquires the lock. */
    public void lock() {
        if (held.compareAndSet(false, true)) {
            return;
        }
        for (int i = 0; i < SPINS; i++) {
            Thread.onSpinWait();
            if (held.compareAndSet(false, true)) {
                return;
            }
        }
        boolean interrupted = false;
        while (!held.compareAndSet(false, true)) {
            interrupted |= pause();
        }
        if (interrupted) {
            Thread.currentThread().interrupt();
        }
    }

    /** Releases the lock. */
    public void unlock() {
        held.set(false);
    }

    /**
     * Waits for up to {@link #PAUSE} nanoseconds.
     *
     * @return whether the thread was interrupted; its interrupt status is cleared
     */
    static boolean pause() {
        boolean interrupted = Thread.interrupted();
        try {
            LockSupport.parkNanos(PAUSE);
        } catch (StackOverflowError e) {
            Thread.onSpinWait();
        }
        return interrupted;
    }
}
