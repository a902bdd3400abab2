// SPDX-License-Identifier: Apache-2.0

package im.app.plugin.host;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import im.app.plugin.host.TestServer.HostError;
import im.app.plugin.host.TestServer.Loaded;
import im.app.plugin.host.TestServer.Sent;
import im.app.plugin.host.generated.Dispatch;
import im.app.plugin.host.wire.Frame;
import im.app.plugin.host.wire.In;
import im.app.plugin.host.wire.Out;
import im.app.plugin.model.ClientRequest;
import im.app.plugin.model.Notification;
import im.app.proto.DeviceType;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class HostTest {
    private static final String PLUGIN =
            """
            package acme;
            import im.app.plugin.*;
            import java.util.*;
            public class Plugin extends AppPlugin {
                @Override public Collection<Class<? extends AppExtension>> getExtensions() {
                    List<Class<? extends AppExtension>> all = new ArrayList<>();
                    all.add(Handler.class); all.add(null); all.add(Handler.class); all.add(Later.class);
                    return all;
                }
            }
            """;
    private static final String HANDLER =
            """
            package acme;
            import im.app.plugin.*;
            import im.app.plugin.model.*;
            import im.app.proto.*;
            import im.app.service.infra.plugin.extension.*;
            import java.util.*;
            import java.util.concurrent.*;
            public class Handler extends AppExtension implements ClientRequestHandler {
                @PropertiesPrefix("acme") public static class Settings { public int port = 1; public String name = "none"; }
                static final CountDownLatch forever = new CountDownLatch(1);
                final String role = node().role();
                @Override public void start() throws Exception {
                    logger().info("starting {} in state {}", descriptor().id(), state());
                    Settings s = loadProperties(Settings.class);
                    if (s.port == 99) throw new IllegalArgumentException("port 99");
                    logger().info("port {} of {}", s.port, s.name);
                }
                @Override public void stop() { throw new IllegalStateException("stop fails"); }
                @ExtensionPointMethod
                @Override public ClientRequest transform(ClientRequest r) throws Exception {
                    switch (r.clientIp()) {
                        case "nothing": return null;
                        case "refuse": throw new AppException(1102, "not so");
                        case "throw": throw new IllegalStateException("outer", new RuntimeException("inner"));
                        case "overflow": return overflow(r, 1);
                        case "overflowAndLog": return overflowAndLog(r);
                        case "giant": return r.withClientIp("x".repeat(20_000_000));
                        case "sleep": forever.await(); return r;
                        case "missing": return new Missing().request(r);
                        case "role": return new Missing().role(r);
                        case "rude": throw new RuntimeException() { @Override public String getMessage() { throw new IllegalStateException("no text"); } };
                        case "noCause": throw new RuntimeException("rude") { @Override public Throwable getCause() { throw new IllegalStateException("no cause"); } };
                        case "errorAsCause": throw new RuntimeException("rude") { @Override public Throwable getCause() { throw new AssertionError("no cause"); } };
                        case "endlessCauses": throw new Endless();
                        case "ask": storage().get("never"); return r;
                        case "wrapper": synchronized (Integer.valueOf(5)) { return r; }
                        case "memory": throw new OutOfMemoryError("none left");
                        case "log": logger().warn("hello {}", 7, new RuntimeException("why")); return r;
                        case "thread":
                            Thread t = new Thread(() -> { try { forever.await(); } catch (InterruptedException e) { } }, "left alone");
                            t.setDaemon(true); t.start();
                            Thread.ofVirtual().name("left virtual").start(() -> { try { forever.await(); } catch (InterruptedException e) { } });
                            return r;
                        case "release": forever.countDown(); return r;
                        case "storage":
                            storage().set("k1", new byte[] {1, 2});
                            return r.withClientIp(storage().get("k1").length + " " + storage().get("none") + " " + storage().delete("k1")
                                + storage().delete("k1") + " " + storage().keys("k"));
                        case "notify":
                            notify(List.of(7L, 8L), AppRequest.newBuilder().setRequestId(5).build());
                            return r;
                        case "node": return r.withClientIp(node().id() + " " + role + " " + node().version() + " " + descriptor().version() + " " + state());
                        case "askRefused":
                            try { storage().get("refuse"); } catch (AppException e) { return r.withClientIp(e.code() + " " + e.reason()); }
                            return r;
                        case "context": return r.withClientIp(Thread.currentThread().getContextClassLoader() == getClass().getClassLoader() ? "own" : "other");
                        default: return r.withRequestId(r.requestId() + 1).withClientIp(r.clientIp().toUpperCase());
                    }
                }
                static final class Endless extends RuntimeException { @Override public Throwable getCause() { return new Endless(); } }
                private ClientRequest overflow(ClientRequest r, long n) { return n == 0 ? r : overflow(r, n + 1).withUserId(n); }
                private ClientRequest overflowAndLog(ClientRequest r) { logger().debug("deeper"); return overflowAndLog(r).withUserId(1); }
            }
            """;
    private static final String MISSING =
            """
            package acme;
            import im.app.plugin.model.*;
            public class Missing { ClientRequest request(ClientRequest r) { return new extra.Dep().of(r); }
                ClientRequest role(ClientRequest r) { return new im.app.gateway.session.Sessions().of(r); } }
            """;
    private static final String LATER =
            """
            package acme;
            import im.app.plugin.*;
            import im.app.plugin.model.*;
            import im.app.service.infra.plugin.extension.*;
            import java.util.concurrent.*;
            public class Later extends AppExtension implements ClientRequestHandler {
                @Override public CompletionStage<ClientRequest> transformAsync(ClientRequest r) {
                    return switch (r.clientIp()) {
                        case "null" -> null;
                        case "fail" -> CompletableFuture.failedFuture(new AppException(1200, "later"));
                        case "never" -> new CompletableFuture<>();
                        default -> CompletableFuture.supplyAsync(() -> r.withClientIp("later"));
                    };
                }
            }
            """;

    @TempDir
    static Path folder;

    static Path jar;
    private final TestServer server = TestServer.embedded();
    private int handler;
    private int later;
    private Loaded loaded;

    @BeforeAll
    static void build() throws Exception {
        Map<String, byte[]> classes = Sources.compile(
                PLUGIN, HANDLER, MISSING, LATER, "package extra; import im.app.plugin.model.*; public class Dep { public ClientRequest of(ClientRequest r) { return r; } }",
                "package im.app.gateway.session; import im.app.plugin.model.*; public class Sessions { public ClientRequest of(ClientRequest r) { return r; } }");
        classes.remove("extra.Dep");
        classes.remove("im.app.gateway.session.Sessions");
        jar = Sources.jar(folder.resolve("acme.jar"), classes, Map.of("some/text.txt", "hello"));
    }

    @BeforeEach
    void load() {
        In ready = server.hello(5);
        assertEquals(System.getProperty("java.version"), ready.string());
        assertEquals(System.getProperty("java.vendor"), ready.string());
        assertEquals(Runtime.version().feature(), ready.number());
        assertEquals(Dispatch.FINGERPRINT, ready.string());
        loaded = server.load("acme-id", "acme.Plugin", jar, false);
        handler = loaded.extensions().get(0).number();
        later = loaded.extensions().get(1).number();
    }

    @AfterEach
    void close() {
        try {
            call("release");
        } catch (HostError | IllegalStateException e) {
            // The plugin was unloaded before, or the host has ended.
        }
        server.close();
    }

    private static ClientRequest request(String ip) {
        return new ClientRequest(1, DeviceType.forNumber(0), ip, 41, null);
    }

    private ClientRequest call(String ip) {
        return (ClientRequest) server.call(handler, "ClientRequestHandler.transform", request(ip));
    }

    private HostError failing(String ip) {
        return assertThrows(HostError.class, () -> call(ip));
    }

    @Test
    void loadingTellsWhatThePluginHas() {
        assertEquals(2, loaded.extensions().size());
        assertEquals("acme.Handler", loaded.extensions().get(0).className());
        assertEquals(List.of("im.app.service.infra.plugin.extension.ClientRequestHandler"), loaded.extensions().get(0).points());
        assertEquals(List.of(TestServer.method("ClientRequestHandler.transform")), loaded.extensions().get(0).methods());
        assertEquals(List.of(TestServer.method("ClientRequestHandler.transform")), loaded.extensions().get(1).methods());
        assertEquals(List.of("getExtensions() of class acme.Plugin returned a null among the classes, which is skipped"), loaded.warnings());
    }

    @Test
    void callsAnswer() {
        assertEquals(new ClientRequest(1, DeviceType.forNumber(0), "ABC", 42, null), call("abc"));
        assertNull(call("nothing"));
        assertEquals("own", call("context").clientIp());
        assertEquals("node-1 service 1.2.3 1.0 LOADED", call("node").clientIp());
    }

    @Test
    void laterAnswersAreAwaited() {
        String method = "ClientRequestHandler.transform";
        assertEquals("later", ((ClientRequest) server.call(later, method, request(""))).clientIp());
        assertNull(server.call(later, method, request("null")));
        HostError e = assertThrows(HostError.class, () -> server.call(later, method, request("fail")));
        assertEquals(1200, e.code);
        Sent never = server.startCall(later, method, request("never"));
        server.send(Frame.CANCEL, never.id(), new Out());
        assertTrue(assertThrows(HostError.class, never::get).getMessage().startsWith("java.lang.InterruptedException"));
    }

    @Test
    void exceptionsAreToldWhole() {
        HostError e = failing("refuse");
        assertEquals(1102, e.code);
        assertEquals("not so", e.getMessage());

        e = failing("throw");
        assertEquals(0, e.code);
        assertEquals("java.lang.IllegalStateException: outer; caused by java.lang.RuntimeException: inner", e.getMessage());
        assertTrue(e.location.matches("Handler\\.java:\\d+"), e.location);
        assertTrue(e.stack.contains("\tat acme.Handler.transform(Handler.java:"), e.stack);

        e = failing("wrapper");
        assertTrue(e.getMessage().startsWith("java.lang.IllegalMonitorStateException: synchronized on an instance of java.lang.Integer"), e.getMessage());

        e = failing("missing");
        assertEquals(
                "java.lang.NoClassDefFoundError: extra/Dep; caused by java.lang.ClassNotFoundException: extra.Dep"
                        + " (class extra.Dep is neither in acme.jar nor in what the server offers: package it into the jar)",
                e.getMessage());
        assertTrue(e.location.startsWith("Missing.java:"), e.location);
        assertTrue(failing("role").getMessage().endsWith(" (class im.app.gateway.session.Sessions is neither in acme.jar nor in what the server offers:"
                + " it would be a class of the role gateway, this node has the role service)"));
        assertEquals("acme.Handler$1", failing("rude").getMessage());
        assertEquals("acme.Handler$2: rude", failing("noCause").getMessage());
        assertEquals("acme.Handler$3: rude", failing("errorAsCause").getMessage());
        assertTrue(failing("endlessCauses").getMessage().startsWith("acme.Handler$Endless; caused by acme.Handler$Endless"));
    }

    @Test
    void cancelEndsAQuestionToTheServer() throws Exception {
        CompletableFuture<Void> asked = new CompletableFuture<>();
        CompletableFuture<Void> answered = new CompletableFuture<>();
        server.answer = (what, in, out) -> {
            asked.complete(null);
            TestServer.await(answered);
            out.bool(false);
        };
        Sent call = server.startCall(handler, "ClientRequestHandler.transform", request("ask"));
        TestServer.await(asked);
        assertEquals(List.of(call.id()), List.copyOf(server.askedFor));
        server.send(Frame.CANCEL, call.id(), new Out());
        assertTrue(assertThrows(HostError.class, call::get).getMessage().startsWith("java.util.concurrent.CancellationException: the call was cancelled"));
        answered.complete(null);
        assertEquals("ABC", call("abc").clientIp());
    }

    @Test
    void onlyTheCallFailsThatOverflowsItsStackOrTheFrame() {
        assertEquals("java.lang.StackOverflowError", failing("overflow").getMessage().split(":")[0]);
        for (int i = 0; i < 5; i++) {
            assertEquals("java.lang.StackOverflowError", failing("overflowAndLog").getMessage().split(":")[0]);
        }
        assertEquals("frame of more than 16777216 bytes, the most that fits", failing("giant").getMessage());
        assertEquals("ABC", call("abc").clientIp());
        assertFalse(server.halted.isDone());
    }

    @Test
    void onlyTheCallFailsThatThrowsAnOutOfMemoryErrorWhileThereIsMemory() {
        assertEquals("java.lang.OutOfMemoryError: none left", failing("memory").getMessage().lines().findFirst().orElse(""));
        assertEquals("ABC", call("abc").clientIp());
        assertFalse(server.halted.isDone());
    }

    @Test
    void stopAnswersAndEnds() {
        server.request(Frame.STOP, out -> {});
        assertEquals(0, TestServer.await(server.halted));
    }

    @Test
    void theEndOfTheStreamEndsTheHost() {
        server.close();
        TestServer.await(server.ended);
    }

    @Test
    void cancelInterrupts() {
        Sent sleeping = server.startCall(handler, "ClientRequestHandler.transform", request("sleep"));
        server.send(Frame.CANCEL, sleeping.id(), new Out());
        assertTrue(assertThrows(HostError.class, sleeping::get).getMessage().startsWith("java.lang.InterruptedException"));
        server.send(Frame.CANCEL, 4711, new Out());
        assertEquals("ABC", call("abc").clientIp());
    }

    @Test
    void tooManyCallsAreRefusedAtOnce() {
        List<Sent> sleeping = new ArrayList<>();
        for (int i = 0; i < 5; i++) {
            sleeping.add(server.startCall(handler, "ClientRequestHandler.transform", request("sleep")));
        }
        assertEquals("there are 5 calls in the Java host already, the most that it takes", failing("abc").getMessage());
        sleeping.forEach(s -> server.send(Frame.CANCEL, s.id(), new Out()));
        sleeping.forEach(s -> assertThrows(HostError.class, s::get));
        assertEquals("ABC", call("abc").clientIp());
    }

    @Test
    void wrongNumbersAreRefused() {
        assertEquals("there is no extension with the number 999",
                assertThrows(HostError.class, () -> server.call(999, "ClientRequestHandler.transform", request(""))).getMessage());
        assertEquals("class acme.Handler has no method with the number " + TestServer.method("ClientRequestHandler.handle"),
                assertThrows(HostError.class, () -> server.call(handler, "ClientRequestHandler.handle", request(""))).getMessage());
        assertEquals("there is no plugin with the number 999",
                assertThrows(HostError.class, () -> server.unload(999)).getMessage());
        assertEquals("this host does not know frames of the kind 77",
                assertThrows(HostError.class, () -> server.request(77, out -> {})).getMessage());
        assertThrows(HostError.class, () -> server.request(Frame.CALL, out -> {}));
        assertEquals("ABC", call("abc").clientIp());
    }

    @Test
    void hooksRunAndTheStateFollows() {
        String[] config = {"{\"port\": \"80\"}"};
        server.answer = (what, in, out) -> {
            assertEquals(1, what);
            assertEquals("acme", in.string());
            out.string(config[0]);
        };
        server.hook(handler, 0);
        assertEquals("starting acme-id in state STARTED", server.line("starting").message());
        assertEquals("port 80 of none", server.line("port").message());
        assertTrue(call("node").clientIp().endsWith("STARTED"));
        server.hook(handler, 1);
        assertTrue(call("node").clientIp().endsWith("PAUSED"));
        server.hook(handler, 2);
        assertTrue(call("node").clientIp().endsWith("STARTED"));
        assertEquals("java.lang.IllegalStateException: stop fails", assertThrows(HostError.class, () -> server.hook(handler, 3)).getMessage());
        assertTrue(call("node").clientIp().endsWith("STOPPED"));
        config[0] = "{\"port\": 99}";
        assertEquals("java.lang.IllegalArgumentException: port 99", assertThrows(HostError.class, () -> server.hook(handler, 0)).getMessage());
        config[0] = "{\"port\": \"eighty\"}";
        assertEquals("java.lang.IllegalArgumentException: property 'acme.port': not a number: \"eighty\"",
                assertThrows(HostError.class, () -> server.hook(handler, 0)).getMessage());
    }

    @Test
    void extensionsUseTheServer() {
        Map<String, byte[]> stored = new ConcurrentHashMap<>();
        List<Notification> told = new ArrayList<>();
        server.answer = (what, in, out) -> {
            switch (what) {
                case 2 -> told.add(Dispatch.readNotification(in));
                case 3 -> {
                    String key = in.string();
                    if (key.equals("refuse")) {
                        throw TestServer.refusal(1300, "no " + key);
                    }
                    byte[] v = stored.get(key);
                    out.optional(v != null);
                    if (v != null) {
                        out.bytes(v);
                    }
                }
                case 4 -> stored.put(in.string(), in.bytes());
                case 5 -> out.bool(stored.remove(in.string()) != null);
                case 6 -> {
                    out.count(2);
                    out.string(in.string() + "1");
                    out.string("k2");
                }
                default -> throw new IllegalStateException("what " + what);
            }
        };
        assertEquals("2 null truefalse [k1, k2]", call("storage").clientIp());
        assertEquals("1300 no refuse", call("askRefused").clientIp());
        call("notify");
        assertEquals(List.of(7L, 8L), told.get(0).recipients());
        assertEquals(5, told.get(0).notification().getRequestId());
    }

    @Test
    void linesOfTheLogCarryTheirException() {
        call("log");
        TestServer.Line l = server.line("hello 7");
        assertEquals(loaded.module(), l.module());
        assertEquals(1, l.level());
        assertEquals("acme.Handler", l.logger());
        assertTrue(l.stack().startsWith("java.lang.RuntimeException: why\n\tat acme.Handler.transform(Handler.java:"), l.stack());
    }

    @Test
    void unloadNamesThreadsThatAreLeft() {
        Sent sleeping = server.startCall(handler, "ClientRequestHandler.transform", request("sleep"));
        call("thread");
        List<String> left = server.unload(loaded.module());
        assertTrue(left.contains("left alone"), left.toString());
        assertTrue(left.contains("left virtual"), left.toString());
        assertThrows(HostError.class, sleeping::get);
        assertEquals("there is no extension with the number " + handler, failing("abc").getMessage());
    }

    @Test
    void dumpShowsCallsAndThreads() {
        Sent sleeping = server.startCall(handler, "ClientRequestHandler.transform", request("sleep"));
        String dump;
        do {
            dump = server.request(Frame.DUMP, out -> {}).string();
        } while (!dump.contains("CountDownLatch.await"));
        assertTrue(dump.contains("request " + sleeping.id() + ": acme.Handler.transform, for "), dump);
        assertTrue(dump.contains("acme.Handler.transform(Handler.java:"), dump);
        assertTrue(dump.contains("watchdog"), dump);
        server.send(Frame.CANCEL, sleeping.id(), new Out());
        assertThrows(HostError.class, sleeping::get);
    }

    @Test
    void statsCount() {
        Sent sleeping = server.startCall(handler, "ClientRequestHandler.transform", request("sleep"));
        In in = server.request(Frame.STATS, out -> out.bool(false));
        assertTrue(in.zigzag() > 0, "heap used");
        assertTrue(in.zigzag() > 0, "heap committed");
        assertTrue(in.zigzag() > 0, "metaspace");
        assertTrue(in.zigzag() > 100, "classes");
        assertTrue(in.zigzag() >= 1, "loaders");
        assertEquals(1, in.zigzag(), "calls");
        server.send(Frame.CANCEL, sleeping.id(), new Out());
        assertThrows(HostError.class, sleeping::get);
    }

    @Test
    void bytesOfTextStayWhatTheyAre() {
        String text = "\u00e4\u20ac\ud83d\ude00";
        assertEquals(text.toUpperCase(java.util.Locale.ROOT), call(text).clientIp());
        assertEquals(4 + 5, text.getBytes(StandardCharsets.UTF_8).length);
    }
}
