// SPDX-License-Identifier: Apache-2.0

package im.app.plugin;

/** A task that the server runs again and again. It ends with the extension, or when it is cancelled. */
public interface Schedule {

    /**
     * The name of the schedule.
     *
     * @return the name, which is that of the times if none was given
     */
    String name();

    /**
     * Ends the schedule. A run that has begun goes on.
     *
     * @return whether it was there
     */
    boolean cancel();
}
