// SPDX-License-Identifier: Apache-2.0

package im.app.plugin;

import java.util.Objects;

/**
 * The options of a schedule.
 *
 * @param name the name, unique in the extension; if empty, the schedule is named after its times
 * @param leaderOnly whether only one node of the cluster runs it: the leader, or another one if the
 *     leader does not have the extension
 */
public record ScheduleOptions(String name, boolean leaderOnly) {

    /** A schedule that all nodes run, named after its times. */
    public static final ScheduleOptions DEFAULT = new ScheduleOptions("", false);

    /**
     * Creates options.
     *
     * @param name the name; may be empty
     * @param leaderOnly whether only one node of the cluster runs it
     */
    public ScheduleOptions {
        Objects.requireNonNull(name, "name");
    }

    /**
     * Returns options with another name.
     *
     * @param name the name
     * @return the options with the name
     */
    public ScheduleOptions named(String name) {
        return new ScheduleOptions(name, leaderOnly);
    }

    /**
     * Returns options of a schedule that only one node of the cluster runs.
     *
     * @return the options
     */
    public static ScheduleOptions onLeader() {
        return new ScheduleOptions("", true);
    }
}
