// SPDX-License-Identifier: Apache-2.0

package im.app.plugin.host;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import im.app.plugin.host.TestServer.Line;
import im.app.plugin.host.TestServer.Loaded;
import im.app.plugin.host.wire.Frame;
import im.app.plugin.host.wire.Out;
import im.app.plugin.model.ClientRequest;
import im.app.proto.DeviceType;
import java.io.FileInputStream;
import java.io.FileOutputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Tests the host as a separate process, with pipes on the descriptors 3 and 4. */
class ProcessTest {
    private static final String PLUGIN =
            """
            package acme;
            import im.app.plugin.*;
            import im.app.plugin.model.*;
            import im.app.service.infra.plugin.extension.*;
            import java.util.*;
            public class Plugin extends AppPlugin {
                @Override public Collection<Class<? extends AppExtension>> getExtensions() { return List.of(Faults.class); }
                public static class Faults extends AppExtension implements ClientRequestHandler {
                    static volatile boolean stop;
                    static final List<byte[]> kept = new ArrayList<>();
                    @Override public ClientRequest transform(ClientRequest r) throws Exception {
                        switch (r.clientIp()) {
                            case "print": System.out.print("one "); System.out.println("line"); System.err.println("an error"); System.out.print("half"); System.out.flush(); break;
                            case "jul": java.util.logging.Logger.getLogger("acme.jul").log(java.util.logging.Level.WARNING, "by {0}", "jul"); break;
                            case "system": System.getLogger("acme.system").log(System.Logger.Level.ERROR, "by system", new RuntimeException("why")); break;
                            case "uncaught": new Thread(() -> { throw new IllegalStateException("nobody"); }, "loose").start(); break;
                            case "exit": System.exit(7); break;
                            case "memory": while (true) kept.add(new byte[1 << 20]);
                            case "flood": for (int i = 0; i < 40_000; i++) logger().info("x".repeat(1000)); break;
                            case "spin": while (!stop) { Thread.onSpinWait(); } break;
                            case "release": stop = true; break;
                        }
                        return r;
                    }
                }
            }
            """;

    @TempDir
    static Path folder;

    static Path jar;
    private Process process;
    private TestServer server;
    private Loaded loaded;

    @BeforeAll
    static void build() throws Exception {
        jar = Sources.jar(folder.resolve("faults.jar"), PLUGIN);
    }

    @BeforeEach
    void start() throws Exception {
        Path dir = Files.createTempDirectory(folder, "pipes");
        Path in = dir.resolve("in");
        Path out = dir.resolve("out");
        assertEquals(0, new ProcessBuilder("mkfifo", in.toString(), out.toString()).start().waitFor());
        List<String> command = new ArrayList<>(List.of("sh", "-c", "exec \"$@\" 3<" + in + " 4>" + out, "sh"));
        command.addAll(List.of(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "-XX:+UseSerialGC", "-Xmx32m", "-Xss512k", "-Xrs", "-XX:+ExitOnOutOfMemoryError", "-Djdk.virtualThreadScheduler.parallelism=2",
                "-cp", System.getProperty("java.class.path"), Main.class.getName()));
        process = new ProcessBuilder(command).redirectErrorStream(true).redirectOutput(dir.resolve("output").toFile()).start();
        FileOutputStream toHost = new FileOutputStream(in.toFile());
        FileInputStream fromHost = new FileInputStream(out.toFile());
        server = new TestServer(fromHost, toHost, () -> {});
        server.hello(100);
        loaded = server.load("acme", "acme.Plugin", jar, false);
    }

    @AfterEach
    void stop() throws Exception {
        server.close();
        assertTrue(process.waitFor(TestServer.PATIENCE, TimeUnit.SECONDS), "the host is still there though its server is gone");
    }

    private TestServer.Sent start(String what) {
        return server.startCall(
                loaded.extensions().get(0).number(), "ClientRequestHandler.transform", new ClientRequest(1, DeviceType.forNumber(0), what, 1, null));
    }

    private void call(String what) {
        start(what).get();
    }

    private Line expect(String text, int level, String logger) {
        Line l = server.line(text);
        assertEquals(loaded.module(), l.module());
        assertEquals(level, l.level());
        assertEquals(logger, l.logger());
        return l;
    }

    @Test
    void everythingThatPluginsWriteGetsToTheLog() throws Exception {
        call("print");
        assertEquals("one line", expect("line", 2, "stdout").message());
        expect("an error", 1, "stderr");
        expect("half", 2, "stdout");
        call("jul");
        expect("by jul", 1, "acme.jul");
        call("system");
        assertTrue(expect("by system", 0, "acme.system").stack().startsWith("java.lang.RuntimeException: why"));
        call("uncaught");
        assertTrue(expect("thread loose ended", 0, "threads").stack().startsWith("java.lang.IllegalStateException: nobody"));
        assertEquals(loaded.module() + " thread loose: java.lang.IllegalStateException: nobody", server.uncaught.get(TestServer.PATIENCE, TimeUnit.SECONDS));
        server.request(Frame.STOP, out -> {});
        assertEquals(0, exitStatus());
    }

    private int exitStatus() {
        try {
            assertTrue(process.waitFor(TestServer.PATIENCE, TimeUnit.SECONDS));
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
        return process.exitValue();
    }

    @Test
    void exitIsAnnounced() {
        start("exit");
        int[] exit = TestServer.await(server.exit);
        assertEquals(7, exit[0]);
        assertEquals(loaded.module(), exit[1]);
        assertEquals(7, exitStatus());
    }

    @Test
    void withoutMemoryItEndsWithStatus3() {
        start("memory");
        assertEquals(3, exitStatus());
    }

    @Test
    void theEndOfThePipeEndsIt() {
        server.close();
        assertEquals(0, exitStatus());
    }

    @Test
    void floodsOfLinesAreHeldBack() {
        call("flood");
        int lines = 0;
        while (lines < 40_000) {
            server.line("xxx");
            lines++;
        }
        call("print");
    }

    @Test
    void callsGoOnWhilePluginsHoldAllProcessors() {
        // On Java 21 to 23 the scheduler cannot be configured, so there are enough processors for
        // one more call there.
        int spinning = Runtime.version().feature() < 24 ? 1 : 4;
        List<TestServer.Sent> spins = new ArrayList<>();
        for (int i = 0; i < spinning; i++) {
            spins.add(start("spin"));
        }
        call("print");
        server.request(Frame.DUMP, out -> {});
        call("release");
        spins.forEach(TestServer.Sent::get);
        server.send(Frame.CANCEL, 1, new Out());
    }
}
