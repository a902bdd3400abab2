// SPDX-License-Identifier: Apache-2.0

package im.app.plugin;

/** A task that the server runs repeatedly until it is cancelled or the extension is stopped. */
public interface Schedule {

    /**
     * Returns the name of the schedule.
     *
     * @return the given name, or else the cron expression or the interval
     */
    String name();

    /**
     * Cancels the schedule. A running task is not interrupted.
     *
     * @return whether the schedule existed
     */
    boolean cancel();
}
