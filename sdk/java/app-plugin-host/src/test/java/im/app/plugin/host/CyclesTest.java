// SPDX-License-Identifier: Apache-2.0

package im.app.plugin.host;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import im.app.plugin.host.TestServer.Loaded;
import im.app.plugin.host.wire.Frame;
import im.app.plugin.host.wire.In;
import im.app.plugin.model.ClientRequest;
import im.app.proto.DeviceType;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class CyclesTest {
    private static final String PLUGIN =
            """
            package acme;
            import im.app.plugin.*;
            import im.app.plugin.model.*;
            import im.app.service.infra.plugin.extension.*;
            import java.util.*;
            public class Plugin extends AppPlugin {
                static final byte[] ballast = new byte[100_000];
                public record Settings(int size) {}
                @Override public Collection<Class<? extends AppExtension>> getExtensions() { return List.of(Round.class); }
                @PropertiesPrefix("acme") public record Config(int size, Map<String, Settings> more) {}
                public static class Round extends AppExtension implements ClientRequestHandler {
                    private Thread worker;
                    private final Object lock = new Object();
                    private boolean done;
                    private final ThreadLocal<byte[]> local = ThreadLocal.withInitial(() -> new byte[1000]);
                    @Override public void start() {
                        loadProperties(Config.class);
                        worker = new Thread(() -> { synchronized (lock) { while (!done) { try { lock.wait(); } catch (InterruptedException e) { return; } } } });
                        worker.start();
                    }
                    @Override public ClientRequest transform(ClientRequest r) throws Exception {
                        local.get();
                        try (var in = Thread.currentThread().getContextClassLoader().getResource("some/text.txt").openStream()) {
                            return r.withClientIp(new String(in.readAllBytes()) + ResourceBundle.getBundle("some.words").getString("word"));
                        }
                    }
                    @Override public void stop() throws Exception { synchronized (lock) { done = true; lock.notifyAll(); } worker.join(); }
                }
            }
            """;

    @TempDir
    Path folder;

    private long metaspace;
    private long loaders;

    @Test
    void roundsLeaveNothingBehind() throws Exception {
        Path jar = Sources.jar(folder.resolve("round.jar"), Sources.compile(PLUGIN), Map.of("some/text.txt", "hello ", "some/words.properties", "word=world"));
        try (TestServer server = TestServer.embedded()) {
            server.answer = (what, in, out) -> out.string("{\"size\": 5, \"more\": {\"a\": {\"size\": 1}}}");
            server.hello(10);
            for (int i = 0; i < 50; i++) {
                round(server, jar);
            }
            stats(server);
            long before = metaspace;
            for (int i = 0; i < 250; i++) {
                round(server, jar);
            }
            stats(server);
            assertEquals(0, loaders, "loaders that were not collected");
            assertTrue(metaspace < before + (1 << 20), "metaspace grew from " + before + " to " + metaspace);
        }
    }

    /**
     * Runs garbage collections until no loader is left: soft references and references that are
     * being cleared may need several.
     */
    private void stats(TestServer server) {
        for (int i = 0; i < 20; i++) {
            In in = server.request(Frame.STATS, out -> out.bool(true));
            in.zigzag();
            in.zigzag();
            metaspace = in.zigzag();
            in.zigzag();
            loaders = in.zigzag();
            if (loaders == 0) {
                return;
            }
        }
    }

    private static void round(TestServer server, Path jar) {
        Loaded loaded = server.load("round", "acme.Plugin", jar, false);
        int extension = loaded.extensions().get(0).number();
        server.hook(extension, 0);
        ClientRequest answer = (ClientRequest)
                server.call(extension, "ClientRequestHandler.transform", new ClientRequest(1, DeviceType.forNumber(0), "", 1, null));
        assertEquals("hello world", answer.clientIp());
        server.hook(extension, 3);
        assertEquals(List.of(), server.unload(loaded.module()));
    }
}
