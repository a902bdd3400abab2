// SPDX-License-Identifier: Apache-2.0

package im.app.plugin;

import im.app.plugin.api.Api;
import im.app.plugin.json.Json;
import im.app.plugin.model.Notification;
import im.app.plugin.spi.Contexts;
import im.app.plugin.spi.ExtensionContext;
import im.app.proto.AppRequest;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * An extension: a class with a public constructor without parameters that extends this class and
 * implements interfaces of extension points, or has {@link #getEndpoints() endpoints}. The server
 * calls the methods that it overrides, each call on its own virtual thread, many concurrently; they
 * may block. Hooks are called one after another.
 *
 * <p>The server can be used from {@link #start()} on, not in the constructor: loading a plugin must
 * have no side effects.
 */
public abstract class AppExtension {

    static {
        Contexts.access((extension, context) -> extension.context = context, extension -> extension.context);
    }

    private volatile @Nullable ExtensionContext context = Contexts.current();

    /** Called by the host when the plugin is loaded. */
    protected AppExtension() {}

    /**
     * Returns the operations of the admin interface that the extension serves while it is started.
     * An extension with endpoints needs no extension point. Called once when the plugin is loaded,
     * after the constructor; the server cannot be used yet.
     *
     * @return the endpoints; their handlers are called like methods of extension points
     */
    public List<Endpoint> getEndpoints() {
        return List.of();
    }

    /**
     * Called once, before the first call. If it throws an exception, the extension is not started;
     * starting can be retried.
     *
     * @throws Exception if the extension cannot be started
     */
    public void start() throws Exception {}

    /**
     * Called when an administrator pauses the extension.
     *
     * @throws Exception if the hook fails; the exception is logged
     */
    public void pause() throws Exception {}

    /**
     * Called when an administrator resumes the extension.
     *
     * @throws Exception if it cannot be resumed
     */
    public void resume() throws Exception {}

    /**
     * Called once, after the last call. The extension must end its threads here, otherwise its
     * classes stay in memory.
     *
     * @throws Exception if the hook fails; the exception is logged
     */
    public void stop() throws Exception {}

    /**
     * Called when an administrator has changed the settings that the plugin declares in
     * {@code plugin.yaml}, while the extension is started or paused. Not called for the initial
     * settings.
     *
     * @param settings the current settings, as returned by {@link #settings()}
     * @throws Exception if the hook fails; the exception is logged
     */
    public void onSettingsChanged(Map<String, @Nullable Object> settings) throws Exception {}

    private ExtensionContext context() {
        ExtensionContext c = context;
        if (c == null) {
            throw new IllegalStateException("the server is not there: the extension was made by " + getClass().getName() + "'s own plugin or test, not by a host");
        }
        return c;
    }

    /**
     * Returns the state of the extension.
     *
     * @return the state
     */
    public final ExtensionState state() {
        return context().state();
    }

    /**
     * Returns a logger that writes to the log of the server.
     *
     * @return the logger of this class
     */
    public final Logger logger() {
        return new Logger(context(), getClass().getName());
    }

    /**
     * Creates an object from the properties of the server's configuration below the prefix in its
     * class's {@link PropertiesPrefix}. Names are compared ignoring case, dashes and underscores.
     *
     * @param <T> the type of the object
     * @param type a record, or a class with a constructor without parameters whose fields contain
     *     the defaults
     * @return the object
     */
    public final <T> T loadProperties(Class<T> type) {
        return context().bind(type);
    }

    /**
     * Returns the current settings of the plugin: the values that administrators have set, and the
     * defaults of the schema in {@code plugin.yaml}.
     *
     * @return nested maps of texts, numbers, booleans and lists
     */
    public final Map<String, @Nullable Object> settings() {
        return Json.object(context().settings());
    }

    /**
     * Returns the current settings of the plugin as an object.
     *
     * @param <T> the type of the object
     * @param type a record with the names of the settings
     * @return the object
     */
    public final <T> T settings(Class<T> type) {
        return Json.read(context().settings(), type);
    }

    /**
     * Returns the operations of the admin interface, executed on behalf of the plugin. Refusals of
     * the server are thrown as {@link AppException}.
     *
     * @return the operations by group; the operations of a role are available where that role runs
     */
    public final Api api() {
        return new Api(context());
    }

    /**
     * Sends a notification to users who are online; nothing is stored. On services only.
     *
     * @param notification the notification with its recipients
     */
    public final void notify(Notification notification) {
        context().notifyUsers(notification);
    }

    /**
     * Sends a notification to users who are online; nothing is stored. On services only.
     *
     * @param recipients the ids of the users
     * @param notification the notification
     */
    public final void notify(Collection<Long> recipients, AppRequest notification) {
        notify(new Notification(false, List.copyOf(recipients), notification));
    }

    /**
     * Reports that a meeting has ended, which the server then stores. For a
     * {@code ConferenceServiceProvider}; on services only.
     *
     * @param meetingId the id of the meeting
     * @param at when it ended
     */
    public final void meetingEnded(long meetingId, Instant at) {
        context().meetingEnded(meetingId, at);
    }

    /**
     * Runs a task repeatedly on this node while the extension is started.
     *
     * @param when a cron expression of five fields, or six with seconds first, in UTC or with
     *     {@code CRON_TZ=Europe/Berlin} before it; or an interval such as {@code 90s} or {@code
     *     15m}
     * @param task the task
     * @return the schedule
     * @throws AppException if the times are invalid or the extension already has a schedule with
     *     the name
     */
    public final Schedule schedule(String when, ScheduledTask task) {
        return schedule(when, ScheduleOptions.DEFAULT, task);
    }

    /**
     * Runs a task repeatedly while the extension is started.
     *
     * @param when a cron expression of five fields, or six with seconds first, in UTC or with
     *     {@code CRON_TZ=Europe/Berlin} before it; or an interval such as {@code 90s} or {@code
     *     15m}
     * @param options the options
     * @param task the task
     * @return the schedule
     * @throws AppException if the times are invalid or the extension already has a schedule with
     *     the name
     */
    public final Schedule schedule(String when, ScheduleOptions options, ScheduledTask task) {
        return context().schedule(when, options, task);
    }

    /**
     * Runs a task repeatedly while the extension is started.
     *
     * @param interval the time between two runs, at least one second
     * @param options the options
     * @param task the task
     * @return the schedule
     * @throws AppException if the interval is invalid or the extension already has a schedule with
     *     the name
     */
    public final Schedule schedule(Duration interval, ScheduleOptions options, ScheduledTask task) {
        return schedule(interval.toMillis() + "ms", options, task);
    }

    /**
     * Returns the durable storage of the plugin.
     *
     * @return the storage
     */
    public final Storage storage() {
        return context().storage();
    }

    /**
     * Returns the plugin's folder for files on this machine. The plugin alone uses it, and it is
     * kept when the plugin is replaced or removed. Each node has its own; data for all nodes
     * belongs in the {@link #storage()}.
     *
     * @return the folder, which exists
     */
    public final Path dataFolder() {
        return context().dataFolder();
    }

    /**
     * Returns the node that the plugin runs in. A process with both roles is two nodes: the result
     * is the one that calls the plugin.
     *
     * @return the node
     */
    public final Node node() {
        return context().node();
    }

    /**
     * Returns whether this version of the plugin runs as a shadow: it receives copies of calls, its
     * results are dropped, and changes through the server API are refused. The value is constant
     * while the plugin is loaded.
     *
     * @return whether it runs as a shadow
     */
    public final boolean isShadow() {
        return context().shadow();
    }

    /**
     * Returns the descriptor of the plugin.
     *
     * @return the descriptor
     */
    public final Descriptor descriptor() {
        return context().descriptor();
    }
}
