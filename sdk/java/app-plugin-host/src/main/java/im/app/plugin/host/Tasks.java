// SPDX-License-Identifier: Apache-2.0

package im.app.plugin.host;

import im.app.plugin.Schedule;
import im.app.plugin.ScheduledTask;
import java.time.Instant;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Predicate;
import java.util.function.Supplier;

/** The tasks of an extension's schedules, by schedule name. */
final class Tasks {
    private final ReentrantLock lock = new ReentrantLock();
    private final Map<String, ScheduledTask> tasks = new HashMap<>();

    /**
     * Adds a task once the server has accepted its schedule. A run that begins meanwhile waits for
     * the lock.
     */
    Schedule add(ScheduledTask task, Supplier<String> ask, Predicate<String> cancel) {
        lock.lock();
        try {
            String name = ask.get();
            tasks.put(name, task);
            return new Schedule() {
                @Override
                public String name() {
                    return name;
                }

                @Override
                public boolean cancel() {
                    return remove(name, task) && cancel.test(name);
                }
            };
        } finally {
            lock.unlock();
        }
    }

    private boolean remove(String name, ScheduledTask task) {
        lock.lock();
        try {
            return tasks.remove(name, task);
        } finally {
            lock.unlock();
        }
    }

    /** Runs a task. A cancelled task does not run. */
    void run(String name, Instant slot) throws Exception {
        ScheduledTask task;
        lock.lock();
        try {
            task = tasks.get(name);
        } finally {
            lock.unlock();
        }
        if (task != null) {
            task.run(slot);
        }
    }

    void clear() {
        lock.lock();
        try {
            tasks.clear();
        } finally {
            lock.unlock();
        }
    }
}
