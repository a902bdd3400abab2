// SPDX-License-Identifier: Apache-2.0

package im.app.plugin.test;

import im.app.plugin.AppExtension;
import im.app.plugin.AppPlugin;
import im.app.plugin.ExtensionPoint;
import im.app.plugin.host.generated.Arguments;
import im.app.plugin.host.generated.Dispatch;
import im.app.plugin.host.generated.MethodInfo;
import im.app.plugin.host.generated.PointInfo;
import im.app.plugin.host.wire.Frame;
import im.app.plugin.host.wire.In;
import im.app.plugin.host.wire.Out;
import im.app.plugin.json.Json;
import im.app.plugin.model.Notification;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.function.Function;

/**
 * Runs a plugin in a real host, in this process and without a server: the host's loader loads its
 * jar, and all parameters and results pass through the same code as on a server. Its requests to
 * the server are answered from memory.
 *
 * <pre>{@code
 * try (PluginRunner plugin = PluginRunner.of(WordFilterPlugin.class)
 *         .property("word-filter.words[0]", "darn").start()) {
 *     plugin.point(ClientRequestHandler.class).transform(request);
 * }
 * }</pre>
 *
 * <p>Each runner loads its own copies of the classes of the plugin, so that tests do not share
 * static fields with it.
 */
public final class PluginRunner implements AutoCloseable {

    private final Wiring wiring;
    private final FakeServer server;
    private final Path temporary;
    private final int module;
    private final List<Loaded> extensions = new ArrayList<>();
    private final List<String> warnings = new ArrayList<>();
    private boolean closed;

    /** An extension in the host. */
    private record Loaded(int number, String type, List<String> points, List<Integer> methods, List<String> handlers) {}

    private PluginRunner(Builder builder) throws Exception {
        server = builder.server;
        JarSource source = builder.source;
        temporary = source.isTemporary(builder.libraries) ? Files.createTempFile("plugin-", ".jar") : null;
        wiring = new Wiring(server, builder.timeout);
        boolean done = false;
        try {
            Path jar = temporary == null ? source.place() : source.pack(temporary, builder.libraries);
            wiring.hello(server.node());
            Out out = new Out();
            out.string(source.id());
            out.string(source.version());
            out.string(source.className());
            out.string(jar.toString());
            out.bool(builder.strict);
            out.string(source.name());
            In in = wiring.request(Frame.LOAD, out);
            module = in.number();
            for (int n = in.count(); n > 0; n--) {
                extensions.add(new Loaded(in.number(), in.string(), strings(in), numbers(in), handlers(in.string())));
            }
            warnings.addAll(strings(in));
            done = true;
        } finally {
            if (!done) {
                wiring.close();
                delete();
            }
        }
    }

    private static List<String> strings(In in) {
        List<String> list = new ArrayList<>();
        for (int n = in.count(); n > 0; n--) {
            list.add(in.string());
        }
        return list;
    }

    private static List<Integer> numbers(In in) {
        List<Integer> list = new ArrayList<>();
        for (int n = in.count(); n > 0; n--) {
            list.add(in.number());
        }
        return list;
    }

    private static List<String> handlers(String endpoints) {
        List<String> list = new ArrayList<>();
        for (Object e : (List<?>) Json.parse(endpoints)) {
            list.add((String) ((Map<?, ?>) e).get("handler"));
        }
        return list;
    }

    /**
     * Prepares a plugin whose classes are in this program. They and the files next to them, such as
     * {@code plugin.yaml}, are packed into a jar.
     *
     * @param plugin the class of the plugin
     * @return the builder of the runner
     */
    public static Builder of(Class<? extends AppPlugin> plugin) {
        return new Builder(JarSource.of(plugin));
    }

    /**
     * Prepares a plugin in a jar.
     *
     * @param jar the jar, with {@code plugin.yaml} at its root
     * @return the builder of the runner
     */
    public static Builder of(Path jar) {
        return new Builder(JarSource.of(jar));
    }

    /** Configures the environment of the plugin. */
    public static final class Builder {
        private final JarSource source;
        private final FakeServer server = new FakeServer();
        private final List<Class<?>> libraries = new ArrayList<>();
        private Duration timeout = Duration.ofSeconds(30);
        private boolean strict;

        private Builder(JarSource source) {
            this.source = source;
        }

        /**
         * Sets a property, like {@code --set} of the server.
         *
         * @param name its name, for example {@code word-filter.words[0]}
         * @param value a text, a number or a boolean; texts that are numbers or booleans are
         *     converted
         * @return this
         */
        public Builder property(String name, Object value) {
            server.properties().set(name, value);
            return this;
        }

        /**
         * Sets the settings of the plugin. They are neither validated nor completed with the
         * defaults of the schema in {@code plugin.yaml}.
         *
         * @param values nested maps of texts, numbers, booleans and lists
         * @return this
         */
        public Builder settings(Map<String, Object> values) {
            server.settings(values);
            return this;
        }

        /**
         * Sets the node that the plugin runs in; the default is a service.
         *
         * @param id the id of the node
         * @param role GATEWAY or SERVICE
         * @param version the version of the server
         * @return this
         */
        public Builder node(String id, String role, String version) {
            server.node(new im.app.plugin.Node(id, role, version));
            return this;
        }

        /**
         * Sets the result of an operation of the admin interface. Other operations are refused.
         *
         * @param operation the id of the operation, for example {@code queryUsers}
         * @param answer returns the data for the parameters: records, maps, lists, texts, numbers,
         *     or null for none; throws an {@link im.app.plugin.AppException} to refuse the call
         * @return this
         */
        public Builder answer(String operation, Function<Map<String, Object>, Object> answer) {
            server.answer(operation, answer);
            return this;
        }

        /**
         * Adds libraries to the jar, as the build of the plugin does.
         *
         * @param classes one class of each library
         * @return this
         */
        public Builder with(Class<?>... classes) {
            libraries.addAll(List.of(classes));
            return this;
        }

        /**
         * Sets the time limit of a call; the default is 30 seconds.
         *
         * @param limit the limit
         * @return this
         */
        public Builder timeout(Duration limit) {
            timeout = limit;
            return this;
        }

        /**
         * Makes loading a class fail if both the jar and the server contain it.
         *
         * @return this
         */
        public Builder strict() {
            strict = true;
            return this;
        }

        /**
         * Loads the plugin without running hooks.
         *
         * @return the plugin
         * @throws Exception if it cannot be loaded
         */
        public PluginRunner load() throws Exception {
            return new PluginRunner(this);
        }

        /**
         * Loads the plugin and starts its extensions.
         *
         * @return the plugin
         * @throws Exception if it cannot be loaded or started
         */
        public PluginRunner start() throws Exception {
            PluginRunner runner = load();
            try {
                runner.start();
                return runner;
            } catch (Exception e) {
                try {
                    runner.close();
                } catch (Exception more) {
                    e.addSuppressed(more);
                }
                throw e;
            }
        }
    }

    private void hook(int hook) {
        for (Loaded e : extensions) {
            Out out = new Out();
            out.number(e.number);
            out.u8(hook);
            wiring.request(Frame.HOOK, out);
        }
    }

    /** Runs the hook {@code start} of all extensions. */
    public void start() {
        server.forgetSchedules();
        hook(0);
    }

    /** Runs the hook {@code pause} of all extensions. */
    public void pause() {
        hook(1);
    }

    /** Runs the hook {@code resume} of all extensions. */
    public void resume() {
        hook(2);
    }

    /** Runs the hook {@code stop} of all extensions. */
    public void stop() {
        hook(3);
    }

    /**
     * Changes the settings and runs the hook {@code onSettingsChanged} of all extensions.
     *
     * @param values the new settings
     */
    public void changeSettings(Map<String, Object> values) {
        server.settings(values);
        hook(4);
    }

    /**
     * Returns the schedules of the plugin. Their tasks run only in {@link #runSchedule}.
     *
     * @return the schedules, by extension and name
     */
    public List<ScheduleInfo> schedules() {
        return server.schedules();
    }

    /**
     * Runs the task of a schedule once, as the server does when it is due.
     *
     * @param name the name of the schedule
     * @param slot the time that is passed to the task
     */
    public void runSchedule(String name, Instant slot) {
        ScheduleInfo schedule = schedules().stream().filter(s -> s.name().equals(name)).findFirst()
                .orElseThrow(() -> new IllegalArgumentException("the plugin has no schedule \"" + name + "\""));
        Out out = new Out();
        out.number(extensions.stream().filter(e -> e.type.equals(schedule.extension())).findFirst().orElseThrow().number);
        out.u8(5);
        out.string(name);
        out.instant(slot);
        wiring.request(Frame.HOOK, out);
    }

    /**
     * Serves a request with an endpoint. Only a server validates the input against the schemas.
     *
     * @param handler the name of the handler
     * @param query the parameters; null if the endpoint declares none
     * @param body the body, which is converted to JSON; null if the endpoint declares none
     * @return the response
     */
    public EndpointAnswer serve(String handler, Map<String, Object> query, Object body) {
        Loaded target = extensions.stream().filter(e -> e.handlers.contains(handler)).findFirst()
                .orElseThrow(() -> new IllegalArgumentException("the plugin has no endpoint with the handler \"" + handler + "\""));
        Map<String, Object> request = new LinkedHashMap<>();
        request.put("query", query);
        request.put("body", body);
        request.put("adminId", 0);
        request.put("ip", "127.0.0.1");
        request.put("requestId", "test");
        Out out = new Out();
        out.number(target.number);
        out.u8(6);
        out.string(handler);
        out.string(Json.write(request));
        out.bool(true);
        ByteArrayOutputStream content = new ByteArrayOutputStream();
        In in = wiring.request(Frame.HOOK, out, content);
        return new EndpointAnswer(in.optional() ? in.string() : null, content.toByteArray());
    }

    /**
     * Returns the classes of the extensions.
     *
     * @return their names
     */
    public List<String> extensions() {
        return extensions.stream().map(Loaded::type).toList();
    }

    /**
     * Returns warnings about the plugin that do not prevent loading it.
     *
     * @return the warnings
     */
    public List<String> warnings() {
        return List.copyOf(warnings);
    }

    /**
     * Returns a proxy that calls the plugin as the server does. Methods that the extension does not
     * override return null.
     *
     * @param <P> the extension point
     * @param point its interface
     * @return the proxy of the first extension that implements it
     */
    public <P extends ExtensionPoint> P point(Class<P> point) {
        return point(point, null);
    }

    /**
     * Returns a proxy that calls one extension of the plugin as the server does.
     *
     * @param <P> the extension point
     * @param point its interface
     * @param extension the class of the extension; null for the first one that implements the point
     * @return the proxy
     */
    public <P extends ExtensionPoint> P point(Class<P> point, Class<? extends AppExtension> extension) {
        PointInfo info = Dispatch.POINTS.stream().filter(p -> p.type() == point).findFirst()
                .orElseThrow(() -> new IllegalArgumentException(point.getName() + " is not an extension point"));
        Loaded target = extensions.stream()
                .filter(e -> e.points.contains(info.name()) && (extension == null || e.type.equals(extension.getName()))).findFirst()
                .orElseThrow(() -> new IllegalArgumentException("no extension of the plugin implements " + point.getSimpleName()));
        return point.cast(Proxy.newProxyInstance(point.getClassLoader(), new Class<?>[] {point}, (proxy, method, args) -> invoke(info, target, proxy, method, args)));
    }

    private Object invoke(PointInfo info, Loaded target, Object proxy, Method method, Object[] args) throws Throwable {
        if (method.getDeclaringClass() == Object.class) {
            return switch (method.getName()) {
                case "equals" -> proxy == args[0];
                case "hashCode" -> System.identityHashCode(proxy);
                default -> info.name() + " of " + target.type;
            };
        }
        boolean later = method.getReturnType() == java.util.concurrent.CompletionStage.class;
        String name = later ? method.getName().substring(0, method.getName().length() - "Async".length()) : method.getName();
        List<Class<?>> parameters = List.of(method.getParameterTypes());
        for (int i = 0; i < info.methods().size(); i++) {
            MethodInfo m = info.methods().get(i);
            if (m.name().equals(name) && m.parameters().equals(parameters)) {
                if (!later) {
                    return call(target, info.first() + i, args);
                }
                int number = info.first() + i;
                try {
                    return CompletableFuture.completedFuture(call(target, number, args));
                } catch (RuntimeException e) {
                    return CompletableFuture.failedFuture(e);
                }
            }
        }
        throw new InvocationTargetException(null, "there is no method " + name);
    }

    private Object call(Loaded target, int method, Object[] args) {
        if (!target.methods.contains(method)) {
            return null;
        }
        Out out = new Out();
        out.number(target.number);
        out.number(method);
        Arguments.write(method, args, out);
        return Arguments.read(method, wiring.request(Frame.CALL, out));
    }

    /**
     * Returns the lines that the plugin has logged.
     *
     * @return the lines in order
     */
    public List<LogLine> logs() {
        return server.logs();
    }

    /**
     * Returns the meetings that plugins reported as ended.
     *
     * @return the times of their ends, by meeting id
     */
    public Map<Long, Instant> endedMeetings() {
        return server.endedMeetings();
    }

    /**
     * Returns the notifications that the plugin has sent.
     *
     * @return the notifications in order
     */
    public List<Notification> notifications() {
        return server.notifications();
    }

    /**
     * Returns the operations of the admin interface that the plugin has called.
     *
     * @return the calls in order
     */
    public List<ApiCall> apiCalls() {
        return server.calls();
    }

    /**
     * Returns the storage of the plugin.
     *
     * @return a live map, which may be modified
     */
    public Map<String, byte[]> storage() {
        return server.storage();
    }

    /**
     * Returns the folder of the plugin, which is deleted when the runner is closed.
     *
     * @return the folder, which exists
     */
    public Path dataFolder() {
        return server.dataFolder();
    }

    /**
     * Stops the extensions, unloads the plugin and ends the host. Throws a {@link PluginFailure} if
     * a thread of the plugin still runs, which on a server would keep its classes in memory.
     */
    @Override
    public void close() {
        if (closed) {
            return;
        }
        closed = true;
        List<String> left;
        try {
            stop();
        } finally {
            try {
                Out out = new Out();
                out.number(module);
                left = strings(wiring.request(Frame.UNLOAD, out));
            } finally {
                wiring.close();
                delete();
                server.deleteFolder();
            }
        }
        if (!left.isEmpty()) {
            throw new PluginFailure("threads of the plugin still run after it was stopped: " + String.join(", ", left), "", "");
        }
    }

    private void delete() {
        try {
            if (temporary != null) {
                Files.deleteIfExists(temporary);
            }
        } catch (IOException e) {
            temporary.toFile().deleteOnExit();
        }
    }
}
