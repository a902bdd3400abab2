// SPDX-License-Identifier: Apache-2.0

package im.app.plugin.host;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

class WatchdogTest {
    private static final class Fake implements Watchdog.Scheduler {
        boolean available = true;
        int parallelism = 2;
        long queued;
        long mounted = 2;

        @Override
        public boolean available() {
            return available;
        }

        @Override
        public int parallelism() {
            return parallelism;
        }

        @Override
        public boolean parallelism(int n) {
            parallelism = n;
            return true;
        }

        @Override
        public long queued() {
            return queued;
        }

        @Override
        public long mounted() {
            return mounted;
        }
    }

    private final Calls calls = new Calls();
    private final Fake scheduler = new Fake();
    private final List<String> warnings = new ArrayList<>();
    private final Watchdog watchdog = new Watchdog(calls, scheduler, warnings::add);

    private void ticks(int n) {
        for (int i = 0; i < n; i++) {
            watchdog.tick();
        }
    }

    @Test
    void aStallRaisesTheParallelismUntilItIsOver() {
        Calls.Running r = new Calls.Running(1, "spin", null);
        calls.add(r);
        ticks(10);
        assertEquals(2, scheduler.parallelism, "a long call alone is no stall");
        scheduler.queued = 3;
        ticks(1);
        assertEquals(5, scheduler.parallelism);
        scheduler.queued = 50;
        ticks(2);
        assertEquals(20, scheduler.parallelism);
        assertEquals(0, warnings.size(), "it may end soon");
        scheduler.queued = 0;
        scheduler.mounted = 5;
        ticks(100);
        assertEquals(20, scheduler.parallelism, "the plugins still hold the processors");
        scheduler.mounted = 1;
        calls.remove(r);
        ticks(201);
        assertEquals(2, scheduler.parallelism);
        assertEquals(1, warnings.size());
    }

    @Test
    void progressIsNoStall() {
        calls.add(new Calls.Running(1, "work", null));
        scheduler.queued = 100;
        for (int i = 0; i < 50; i++) {
            calls.begun(null);
            watchdog.tick();
        }
        assertEquals(2, scheduler.parallelism);
    }

    @Test
    void olderVersionsOfJavaAreWarnedOfOnce() {
        scheduler.available = false;
        calls.add(new Calls.Running(1, "sleep", null));
        ticks(50);
        assertEquals(0, warnings.size(), "one slow call holds nobody");
        for (int i = 0; i <= Runtime.getRuntime().availableProcessors(); i++) {
            Calls.Running r = new Calls.Running(2 + i, "spin", null);
            r.thread = Thread.currentThread();
            calls.add(r);
        }
        ticks(50);
        assertEquals(1, warnings.size());
        assertEquals(2, scheduler.parallelism);
    }
}
