// SPDX-License-Identifier: Apache-2.0

package im.app.plugin.test;

import im.app.plugin.AppException;
import im.app.plugin.Node;
import im.app.plugin.StatusCode;
import im.app.plugin.host.generated.Dispatch;
import im.app.plugin.host.wire.In;
import im.app.plugin.host.wire.Out;
import im.app.plugin.json.Json;
import im.app.plugin.model.Notification;
import im.app.plugin.spi.LogLevel;
import java.io.IOException;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentMap;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.function.Function;
import java.util.stream.Stream;

/** An in-memory implementation of the server API for a plugin. */
final class FakeServer {
    private final Properties properties = new Properties();
    private final ConcurrentMap<String, Function<Map<String, Object>, Object>> answers = new ConcurrentHashMap<>();
    private final ConcurrentMap<String, byte[]> storage = new ConcurrentHashMap<>();
    private final List<LogLine> logs = new CopyOnWriteArrayList<>();
    private final Map<Long, Instant> endedMeetings = new ConcurrentHashMap<>();
    private final List<Notification> notifications = new CopyOnWriteArrayList<>();
    private final List<ApiCall> calls = new CopyOnWriteArrayList<>();
    private final ConcurrentMap<ScheduleKey, ScheduleInfo> schedules = new ConcurrentHashMap<>();
    /** The output streams of running endpoint calls, by call number. */
    private final ConcurrentMap<Long, OutputStream> outputs = new ConcurrentHashMap<>();
    private Path dataFolder;
    private volatile Map<String, Object> settings = Map.of();
    private volatile Node node = new Node("test", "SERVICE", "test");

    Properties properties() {
        return properties;
    }

    void settings(Map<String, Object> values) {
        settings = Map.copyOf(values);
    }

    Node node() {
        return node;
    }

    void node(Node n) {
        node = n;
    }

    void answer(String operation, Function<Map<String, Object>, Object> answer) {
        answers.put(operation, answer);
    }

    Map<String, byte[]> storage() {
        return storage;
    }

    List<LogLine> logs() {
        return List.copyOf(logs);
    }

    Map<Long, Instant> endedMeetings() {
        return Map.copyOf(endedMeetings);
    }

    List<Notification> notifications() {
        return List.copyOf(notifications);
    }

    List<ApiCall> calls() {
        return List.copyOf(calls);
    }

    void log(In in) {
        in.number();
        LogLevel level = LogLevel.values()[in.u8()];
        logs.add(new LogLine(level, in.string(), in.string(), in.string()));
    }

    /** Responds to a request of a plugin. */
    void ask(In in, Out out) {
        in.number();
        int what = in.u8();
        long call = in.zigzag();
        switch (what) {
            case 0 -> call(in.string(), Json.object(in.string()), out);
            case 1 -> out.string(Json.write(properties.below(in.string())));
            case 2 -> tell(Dispatch.readNotification(in));
            case 3 -> {
                byte[] value = storage.get(in.string());
                out.optional(value != null);
                if (value != null) {
                    out.bytes(value);
                }
            }
            case 4 -> storage.put(in.string(), in.bytes());
            case 5 -> out.bool(storage.remove(in.string()) != null);
            case 6 -> {
                List<String> keys = keys(in.string());
                out.count(keys.size());
                keys.forEach(out::string);
            }
            case 7 -> endedMeetings.put(in.zigzag(), in.instant());
            case 8 -> out.string(Json.write(settings));
            case 9 -> out.string(dataFolder().toString());
            case 10 -> out.string(schedule(in.string(), in.string(), in.string(), in.bool()));
            case 11 -> out.bool(schedules.remove(new ScheduleKey(in.string(), in.string())) != null);
            case 12 -> write(call, in.bytes());
            default -> throw new IllegalArgumentException("the plugin asks for something unknown");
        }
    }

    /** Directs the content of an endpoint call to a stream until {@link #close}. */
    void open(long call, OutputStream output) {
        outputs.put(call, output);
    }

    void close(long call) {
        outputs.remove(call);
    }

    private void write(long call, byte[] block) {
        OutputStream output = outputs.get(call);
        if (output == null) {
            throw new IllegalStateException("the request is over");
        }
        try {
            output.write(block);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** The identity of a plugin's schedule. */
    record ScheduleKey(String extension, String name) {}

    private String schedule(String extension, String given, String when, boolean leaderOnly) {
        String name = given.isEmpty() ? when.strip() : given;
        ScheduleInfo info = new ScheduleInfo(extension, name, when.strip(), leaderOnly);
        if (schedules.putIfAbsent(new ScheduleKey(extension, name), info) != null) {
            throw new AppException(StatusCode.DUPLICATE_RESOURCE, "the extension has a schedule \"" + name + "\" already: give one of them another name");
        }
        return name;
    }

    List<ScheduleInfo> schedules() {
        return schedules.values().stream().sorted(Comparator.comparing(ScheduleInfo::extension).thenComparing(ScheduleInfo::name)).toList();
    }

    void forgetSchedules() {
        schedules.clear();
    }

    /** Returns the folder of the plugin; the first call creates it. */
    synchronized Path dataFolder() {
        try {
            if (dataFolder == null) {
                dataFolder = Files.createTempDirectory("plugin-data-");
            }
            return dataFolder;
        } catch (IOException e) {
            throw new UncheckedIOException("make a folder for the plugin", e);
        }
    }

    /** Deletes the folder of the plugin. */
    synchronized void deleteFolder() {
        if (dataFolder == null) {
            return;
        }
        try (Stream<Path> files = Files.walk(dataFolder)) {
            for (Path file : files.sorted(Comparator.reverseOrder()).toList()) {
                Files.delete(file);
            }
        } catch (IOException e) {
            throw new UncheckedIOException("delete the folder of the plugin", e);
        } finally {
            dataFolder = null;
        }
    }

    private List<String> keys(String prefix) {
        List<String> keys = new ArrayList<>(storage.keySet().stream().filter(k -> k.startsWith(prefix)).toList());
        keys.sort((a, b) -> Arrays.compareUnsigned(a.getBytes(StandardCharsets.UTF_8), b.getBytes(StandardCharsets.UTF_8)));
        return keys;
    }

    private void tell(Notification n) {
        if (!node.role().equals("SERVICE")) {
            throw new AppException(StatusCode.SERVER_UNAVAILABLE, "this server has no service role: only services notify users");
        }
        notifications.add(n);
    }

    private void call(String operation, Map<String, Object> input, Out out) {
        calls.add(new ApiCall(operation, input));
        Function<Map<String, Object>, Object> answer = answers.get(operation);
        if (answer == null) {
            throw new AppException(StatusCode.ILLEGAL_ARGUMENT, "the test says nothing about the operation \"" + operation + "\": use answer(\"" + operation + "\", ...)");
        }
        Object data = answer.apply(input);
        out.optional(data != null);
        if (data != null) {
            out.string(Json.write(data));
        }
    }
}
