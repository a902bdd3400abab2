// SPDX-License-Identifier: Apache-2.0

package im.app.plugin.spi;

import im.app.plugin.Descriptor;
import im.app.plugin.ExtensionState;
import im.app.plugin.Node;
import im.app.plugin.Schedule;
import im.app.plugin.ScheduleOptions;
import im.app.plugin.ScheduledTask;
import im.app.plugin.Storage;
import im.app.plugin.model.Notification;
import java.nio.file.Path;
import java.time.Instant;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** The host's API for an extension. All methods are safe for concurrent use. */
public interface ExtensionContext {

    /**
     * Writes a line of the log.
     *
     * @param level the level
     * @param logger the name of the logger
     * @param message the line
     * @param thrown an exception; may be null
     */
    void log(LogLevel level, String logger, String message, @Nullable Throwable thrown);

    /**
     * Returns whether a level is logged. The cost is negligible.
     *
     * @param level the level
     * @return whether a line would be logged
     */
    boolean enabled(LogLevel level);

    /**
     * Calls an operation of the admin interface.
     *
     * @param operation the id of the operation
     * @param json its input: an object with the parameters by name and the body as {@code body}
     * @return the JSON of the data; null if there is none
     * @throws im.app.plugin.AppException if the server refuses
     */
    @Nullable String call(String operation, String json);

    /**
     * Returns the properties below a prefix.
     *
     * @param prefix the prefix
     * @return nested maps of texts, numbers, booleans and lists
     */
    Map<String, @Nullable Object> config(String prefix);

    /**
     * Returns the current settings of the plugin.
     *
     * @return a JSON object
     * @throws im.app.plugin.AppException if the plugin declares none, or the settings are invalid
     */
    String settings();

    /**
     * Sends a notification to users.
     *
     * @param notification the notification with its recipients
     */
    void notifyUsers(Notification notification);

    /**
     * Reports that a meeting has ended.
     *
     * @param meetingId the id of the meeting
     * @param at when it ended
     */
    void meetingEnded(long meetingId, Instant at);

    /**
     * Runs a task repeatedly while the extension is started.
     *
     * @param when a cron expression or an interval
     * @param options the options
     * @param task the task
     * @return the schedule
     * @throws im.app.plugin.AppException if the times are invalid or the extension already has a
     *     schedule with the name
     */
    Schedule schedule(String when, ScheduleOptions options, ScheduledTask task);

    /**
     * Returns the durable storage of the plugin.
     *
     * @return the storage
     */
    Storage storage();

    /**
     * Returns the plugin's folder for files.
     *
     * @return the folder, which exists
     */
    Path dataFolder();

    /**
     * Returns the node that the plugin runs in.
     *
     * @return the node that calls the plugin; a process with both roles is two nodes
     */
    Node node();

    /**
     * Returns whether the plugin receives only copies of calls.
     *
     * @return whether it runs as a shadow
     */
    default boolean shadow() {
        return false;
    }

    /**
     * Returns the descriptor of the plugin.
     *
     * @return the descriptor
     */
    Descriptor descriptor();

    /**
     * Creates an object from properties.
     *
     * @param <T> the type of the object
     * @param type a class with {@link im.app.plugin.PropertiesPrefix}
     * @return the object
     */
    <T> T bind(Class<T> type);

    /**
     * Returns the state of the extension.
     *
     * @return the state
     */
    ExtensionState state();
}
