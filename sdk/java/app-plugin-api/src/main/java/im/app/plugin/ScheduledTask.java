// SPDX-License-Identifier: Apache-2.0

package im.app.plugin;

import java.time.Instant;

/** What a schedule runs. */
@FunctionalInterface
public interface ScheduledTask {

    /**
     * Called at the times of the schedule, each time on a virtual thread, never twice at the same time. The thread is interrupted when
     * the time limit is over.
     *
     * @param slot the time at which the run was due
     * @throws Exception is logged and counted
     */
    void run(Instant slot) throws Exception;
}
