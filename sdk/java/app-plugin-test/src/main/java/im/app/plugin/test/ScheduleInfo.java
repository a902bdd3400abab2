// SPDX-License-Identifier: Apache-2.0

package im.app.plugin.test;

/**
 * A schedule of a plugin.
 *
 * @param extension the name of the class of the extension
 * @param name the name of the schedule
 * @param when the cron expression or the interval, which is not validated
 * @param leaderOnly whether only one node of the cluster runs it
 */
public record ScheduleInfo(String extension, String name, String when, boolean leaderOnly) {}
