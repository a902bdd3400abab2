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
 * An extension: a class with a public constructor without parameters that extends this one and implements interfaces of
 * extension points, or has {@link #getEndpoints() endpoints}. The server calls the methods that it overrides, each call on a
 * virtual thread of its own, many at the same time; they may block. Hooks are called one after another.
 *
 * <p>The server can be used from {@link #start()} on, not in the constructor: loading a plugin must change nothing.
 */
public abstract class AppExtension {

    static {
        Contexts.access((extension, context) -> extension.context = context, extension -> extension.context);
    }

    private volatile @Nullable ExtensionContext context = Contexts.current();

    /** Called by the host when the plugin is loaded. */
    protected AppExtension() {}

    /**
     * The operations of the admin interface that the extension serves while it is started. An extension that has some needs no
     * extension point. Called once when the plugin is loaded, after the constructor; the server cannot be used yet.
     *
     * @return the endpoints; their handlers are called as methods of extension points are
     */
    public List<Endpoint> getEndpoints() {
        return List.of();
    }

    /**
     * Called once, before the first call. An exception keeps the extension from being started; it can be tried again.
     *
     * @throws Exception if the extension cannot be started
     */
    public void start() throws Exception {}

    /**
     * Called when an administrator pauses the extension.
     *
     * @throws Exception is logged
     */
    public void pause() throws Exception {}

    /**
     * Called when an administrator lets the extension go on.
     *
     * @throws Exception if it cannot go on
     */
    public void resume() throws Exception {}

    /**
     * Called once, after the last call. Threads that the extension began must end here, else its classes stay in memory.
     *
     * @throws Exception is logged
     */
    public void stop() throws Exception {}

    /**
     * Called when an administrator has changed the settings that the plugin declares in {@code plugin.yaml}, while the extension
     * is started or paused. It is not called for the settings that the extension is started with.
     *
     * @param settings the settings that hold now, as {@link #settings()} returns them
     * @throws Exception is logged
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
     * The state of the extension.
     *
     * @return its state
     */
    public final ExtensionState state() {
        return context().state();
    }

    /**
     * The log of the server.
     *
     * @return the logger of this class
     */
    public final Logger logger() {
        return new Logger(context(), getClass().getName());
    }

    /**
     * Makes an object of the properties below the prefix that its class names with {@link PropertiesPrefix}, from the same
     * configuration as the server's. Names are compared without case, dashes and underscores.
     *
     * @param <T> the type of the object
     * @param type a record, or a class with a constructor without parameters whose fields hold the defaults
     * @return the object
     */
    public final <T> T loadProperties(Class<T> type) {
        return context().bind(type);
    }

    /**
     * The settings of the plugin that hold: what administrators set, and the defaults of the schema in {@code plugin.yaml}.
     *
     * @return nested maps of texts, numbers, booleans and lists
     */
    public final Map<String, @Nullable Object> settings() {
        return Json.object(context().settings());
    }

    /**
     * The settings of the plugin that hold, as an object.
     *
     * @param <T> the type of the object
     * @param type a record with the names of the settings
     * @return the object
     */
    public final <T> T settings(Class<T> type) {
        return Json.read(context().settings(), type);
    }

    /**
     * The operations of the admin interface, carried out in the name of the plugin. What the server refuses is an
     * {@link AppException}.
     *
     * @return the operations by their groups; those of a role are there where that role runs
     */
    public final Api api() {
        return new Api(context());
    }

    /**
     * Tells users who are online of something; nothing is stored. On services only.
     *
     * @param notification what they are told, and who
     */
    public final void notify(Notification notification) {
        context().notifyUsers(notification);
    }

    /**
     * Tells users who are online of something; nothing is stored. On services only.
     *
     * @param recipients the ids of the users
     * @param notification what they are told
     */
    public final void notify(Collection<Long> recipients, AppRequest notification) {
        notify(new Notification(false, List.copyOf(recipients), notification));
    }

    /**
     * Says that a meeting has ended, which the server then stores. For a {@code ConferenceServiceProvider}; on services only.
     *
     * @param meetingId the id of the meeting
     * @param at when it ended
     */
    public final void meetingEnded(long meetingId, Instant at) {
        context().meetingEnded(meetingId, at);
    }

    /**
     * Lets a task run again and again on this node while the extension is started.
     *
     * @param when a cron expression of five fields, or six with seconds first, in UTC or with {@code CRON_TZ=Europe/Berlin} before it;
     *     or an interval such as {@code 90s} or {@code 15m}
     * @param task what is run
     * @return the schedule
     * @throws AppException if the times are not valid or the extension has such a schedule already
     */
    public final Schedule schedule(String when, ScheduledTask task) {
        return schedule(when, ScheduleOptions.DEFAULT, task);
    }

    /**
     * Lets a task run again and again while the extension is started.
     *
     * @param when a cron expression of five fields, or six with seconds first, in UTC or with {@code CRON_TZ=Europe/Berlin} before it;
     *     or an interval such as {@code 90s} or {@code 15m}
     * @param options how it runs
     * @param task what is run
     * @return the schedule
     * @throws AppException if the times are not valid or the extension has such a schedule already
     */
    public final Schedule schedule(String when, ScheduleOptions options, ScheduledTask task) {
        return context().schedule(when, options, task);
    }

    /**
     * Lets a task run again and again while the extension is started.
     *
     * @param interval the time between two runs, at least one second
     * @param options how it runs
     * @param task what is run
     * @return the schedule
     * @throws AppException if the interval is not valid or the extension has such a schedule already
     */
    public final Schedule schedule(Duration interval, ScheduleOptions options, ScheduledTask task) {
        return schedule(interval.toMillis() + "ms", options, task);
    }

    /**
     * The durable space of the plugin.
     *
     * @return the storage
     */
    public final Storage storage() {
        return context().storage();
    }

    /**
     * The folder for files of the plugin on this machine. Nobody else uses it, and it stays when the plugin is replaced or
     * removed. Other nodes have their own; what all of them need belongs into the {@link #storage()}.
     *
     * @return the folder, which is there
     */
    public final Path dataFolder() {
        return context().dataFolder();
    }

    /**
     * The server that the plugin runs in. A process with both roles is two nodes: it is the one that calls the plugin.
     *
     * @return the node
     */
    public final Node node() {
        return context().node();
    }

    /**
     * Tells whether this version of the plugin runs as a shadow: it gets copies of calls, its answers are thrown away, and what
     * would change something through the server is refused. It stays the same as long as the plugin is loaded.
     *
     * @return whether it runs as a shadow
     */
    public final boolean isShadow() {
        return context().shadow();
    }

    /**
     * What the plugin says of itself.
     *
     * @return its descriptor
     */
    public final Descriptor descriptor() {
        return context().descriptor();
    }
}
