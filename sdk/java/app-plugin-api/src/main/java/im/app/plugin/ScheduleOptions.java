// SPDX-License-Identifier: Apache-2.0

package im.app.plugin;

import java.util.Objects;

/**
 * How a schedule runs.
 *
 * @param name tells it from others of the extension; if it is empty, the schedule is named as its times
 * @param leaderOnly whether only one node of the cluster runs it: the leader, or another one if the leader does not have the extension
 */
public record ScheduleOptions(String name, boolean leaderOnly) {

    /** A schedule that all nodes run, named as its times. */
    public static final ScheduleOptions DEFAULT = new ScheduleOptions("", false);

    /**
     * Makes options.
     *
     * @param name the name, or an empty text
     * @param leaderOnly whether only one node of the cluster runs it
     */
    public ScheduleOptions {
        Objects.requireNonNull(name, "name");
    }

    /**
     * Names the schedule.
     *
     * @param name its name
     * @return the options with the name
     */
    public ScheduleOptions named(String name) {
        return new ScheduleOptions(name, leaderOnly);
    }

    /**
     * Lets only one node of the cluster run the schedule.
     *
     * @return the options of such a schedule
     */
    public static ScheduleOptions onLeader() {
        return new ScheduleOptions("", true);
    }
}
