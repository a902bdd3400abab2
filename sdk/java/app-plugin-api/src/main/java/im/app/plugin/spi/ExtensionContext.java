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

/** What a host offers to an extension. All methods are safe for concurrent use. */
public interface ExtensionContext {

    /**
     * Writes a line of the log.
     *
     * @param level how important it is
     * @param logger the name of the logger
     * @param message the line
     * @param thrown an exception, or null
     */
    void log(LogLevel level, String logger, String message, @Nullable Throwable thrown);

    /**
     * Tells whether the log takes lines of a level. It costs next to nothing.
     *
     * @param level the level
     * @return whether a line would be logged
     */
    boolean enabled(LogLevel level);

    /**
     * Carries out an operation of the admin interface.
     *
     * @param operation the id of the operation
     * @param json its input: an object with the parameters by their names and the body as {@code body}
     * @return the JSON of the data, or null if there is none
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
     * Returns the settings of the plugin that hold.
     *
     * @return a JSON object
     * @throws im.app.plugin.AppException if the plugin declares none, or what is set is not valid
     */
    String settings();

    /**
     * Tells users of something.
     *
     * @param notification what, and whom
     */
    void notifyUsers(Notification notification);

    /**
     * Says that a meeting has ended.
     *
     * @param meetingId the id of the meeting
     * @param at when it ended
     */
    void meetingEnded(long meetingId, Instant at);

    /**
     * Lets a task run again and again while the extension is started.
     *
     * @param when a cron expression or an interval
     * @param options how it runs
     * @param task what is run
     * @return the schedule
     * @throws im.app.plugin.AppException if the times are not valid or the extension has such a schedule already
     */
    Schedule schedule(String when, ScheduleOptions options, ScheduledTask task);

    /**
     * The durable space of the plugin.
     *
     * @return the storage
     */
    Storage storage();

    /**
     * The folder for files of the plugin.
     *
     * @return the folder, which is there
     */
    Path dataFolder();

    /**
     * The server.
     *
     * @return the node that calls the plugin; a process with both roles is two
     */
    Node node();

    /**
     * Tells whether the plugin gets nothing but copies of calls.
     *
     * @return whether it runs as a shadow
     */
    default boolean shadow() {
        return false;
    }

    /**
     * What the plugin says of itself.
     *
     * @return its descriptor
     */
    Descriptor descriptor();

    /**
     * Makes an object of properties.
     *
     * @param <T> the type of the object
     * @param type a class with {@link im.app.plugin.PropertiesPrefix}
     * @return the object
     */
    <T> T bind(Class<T> type);

    /**
     * The state of the extension.
     *
     * @return its state
     */
    ExtensionState state();
}
