// SPDX-License-Identifier: Apache-2.0

package im.app.plugin;

import java.time.Instant;

/** The task of a schedule. */
@FunctionalInterface
public interface ScheduledTask {

    /**
     * Called at the times of the schedule, each time on a virtual thread, never concurrently. The
     * thread is interrupted at the time limit.
     *
     * @param slot the time at which the run was due
     * @throws Exception if the run fails; the exception is logged and counted
     */
    void run(Instant slot) throws Exception;
}
