// SPDX-License-Identifier: Apache-2.0

package im.app.plugin.host;

import im.app.plugin.Descriptor;
import im.app.plugin.ExtensionState;
import im.app.plugin.Node;
import im.app.plugin.PropertiesPrefix;
import im.app.plugin.Schedule;
import im.app.plugin.ScheduleOptions;
import im.app.plugin.ScheduledTask;
import im.app.plugin.Storage;
import im.app.plugin.host.config.Binder;
import im.app.plugin.host.generated.Dispatch;
import im.app.plugin.host.wire.Frame;
import im.app.plugin.host.wire.In;
import im.app.plugin.host.wire.Out;
import im.app.plugin.json.Json;
import im.app.plugin.model.Notification;
import im.app.plugin.spi.ExtensionContext;
import im.app.plugin.spi.LogLevel;
import java.nio.file.Path;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;

/** The server API of an extension; most methods send a request to the server. */
final class Context implements ExtensionContext {
    private static final int API = 0;
    private static final int CONFIG = 1;
    private static final int NOTIFY = 2;
    private static final int STORAGE_GET = 3;
    private static final int STORAGE_SET = 4;
    private static final int STORAGE_DELETE = 5;
    private static final int STORAGE_KEYS = 6;
    private static final int MEETING_ENDED = 7;
    private static final int SETTINGS = 8;
    private static final int FOLDER = 9;
    private static final int SCHEDULE = 10;
    private static final int UNSCHEDULE = 11;
    private static final int WRITE = 12;
    private static final int NODE = 13;

    private final Host host;
    private final Extension extension;
    private final Storage storage = new ServerStorage();

    Context(Host host, Extension extension) {
        this.host = host;
        this.extension = extension;
    }

    private Out request(int what) {
        return request(what, Calls.current());
    }

    /**
     * Begins a request. The call, 0 for none, identifies the request on whose behalf the plugin
     * acts.
     */
    private Out request(int what, long call) {
        Out out = new Out();
        out.number(extension.module.number);
        out.u8(what);
        out.zigzag(call);
        return out;
    }

    private In ask(Out request) {
        return host.serverRequests().ask(Frame.ASK, request);
    }

    /** Sends a block of an endpoint's response for a call. May be called by any thread. */
    void write(long call, byte[] block) {
        Out out = request(WRITE, call);
        out.bytes(block);
        ask(out);
    }

    @Override
    public void log(LogLevel level, String logger, String message, Throwable thrown) {
        host.log(extension.module.number, level.ordinal(), logger, message, thrown);
    }

    @Override
    public boolean enabled(LogLevel level) {
        return host.logs(level.ordinal());
    }

    @Override
    public String call(String operation, String json) {
        Out out = request(API);
        out.string(Objects.requireNonNull(operation, "operation"));
        out.string(json == null ? "{}" : json);
        In in = ask(out);
        return in.optional() ? in.string() : null;
    }

    @Override
    public Map<String, Object> config(String prefix) {
        Out out = request(CONFIG);
        out.string(Objects.requireNonNull(prefix, "prefix"));
        return Json.object(ask(out).string());
    }

    @Override
    public String settings() {
        return ask(request(SETTINGS)).string();
    }

    @Override
    public void notifyUsers(Notification notification) {
        Out out = request(NOTIFY);
        Dispatch.writeNotification(out, Objects.requireNonNull(notification, "notification"));
        ask(out);
    }

    @Override
    public void meetingEnded(long meetingId, Instant at) {
        Out out = request(MEETING_ENDED);
        out.zigzag(meetingId);
        out.instant(Objects.requireNonNull(at, "at"));
        ask(out);
    }

    @Override
    public Schedule schedule(String when, ScheduleOptions options, ScheduledTask task) {
        Objects.requireNonNull(task, "task");
        Out out = request(SCHEDULE);
        out.string(extension.type.name());
        out.string(options.name());
        out.string(Objects.requireNonNull(when, "when"));
        out.bool(options.leaderOnly());
        // The server may run the task before this method returns.
        return extension.tasks.add(task, () -> ask(out).string(), this::unschedule);
    }

    private boolean unschedule(String name) {
        Out out = request(UNSCHEDULE);
        out.string(extension.type.name());
        out.string(name);
        return ask(out).bool();
    }

    @Override
    public Storage storage() {
        return storage;
    }

    @Override
    public Path dataFolder() {
        return Path.of(ask(request(FOLDER)).string());
    }

    @Override
    public Node node() {
        if (!host.severalNodes()) {
            return host.node();
        }
        Out out = request(NODE);
        out.string(extension.type.name());
        out.zigzag(Calls.currentMethod());
        In in = ask(out);
        return new Node(in.string(), in.string(), in.string());
    }

    @Override
    public boolean shadow() {
        return Boolean.getBoolean("app.plugin.shadow");
    }

    @Override
    public Descriptor descriptor() {
        return extension.module.descriptor;
    }

    @Override
    public <T> T bind(Class<T> type) {
        PropertiesPrefix prefix = type.getAnnotation(PropertiesPrefix.class);
        if (prefix == null) {
            throw new IllegalArgumentException("class " + type.getName() + " must be marked with @" + PropertiesPrefix.class.getSimpleName()
                    + ", which says where its properties are");
        }
        return Binder.bind(type, prefix.value(), config(prefix.value()));
    }

    @Override
    public ExtensionState state() {
        return extension.state;
    }

    private final class ServerStorage implements Storage {
        private Out keyed(int what, String key) {
            Out out = request(what);
            out.string(Objects.requireNonNull(key, "key"));
            return out;
        }

        @Override
        public byte[] get(String key) {
            In in = ask(keyed(STORAGE_GET, key));
            return in.optional() ? in.bytes() : null;
        }

        @Override
        public void set(String key, byte[] value) {
            Out out = keyed(STORAGE_SET, key);
            out.bytes(Objects.requireNonNull(value, "value"));
            ask(out);
        }

        @Override
        public boolean delete(String key) {
            return ask(keyed(STORAGE_DELETE, key)).bool();
        }

        @Override
        public List<String> keys(String prefix) {
            In in = ask(keyed(STORAGE_KEYS, prefix));
            int n = in.count();
            List<String> out = new ArrayList<>(n);
            for (int i = 0; i < n; i++) {
                out.add(in.string());
            }
            return out;
        }
    }
}
