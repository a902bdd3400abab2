// SPDX-License-Identifier: Apache-2.0

package im.app.plugin;

/** A task that the server runs repeatedly. It ends with the extension, or when it is cancelled. */
public interface Schedule {

    /**
     * Returns the name of the schedule.
     *
     * @return the name; if none was given, it is that of the times
     */
    String name();

    /**
     * Cancels the schedule. A running task is not interrupted.
     *
     * @return whether the schedule existed
     */
    boolean cancel();
}
