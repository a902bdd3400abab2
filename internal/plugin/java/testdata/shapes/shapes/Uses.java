// SPDX-License-Identifier: Apache-2.0

package shapes;

import im.app.plugin.AppExtension;
import im.app.plugin.PropertiesPrefix;
import im.app.plugin.model.ClientRequest;
import im.app.service.infra.plugin.extension.ClientRequestHandler;
import im.app.service.infra.plugin.extension.ConferenceServiceProvider;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.Arrays;
import java.util.concurrent.atomic.AtomicInteger;

/** Uses what only Java has of the server. */
public class Uses extends AppExtension implements ClientRequestHandler, ConferenceServiceProvider {
    /** Settings of the plugin, with defaults. */
    @PropertiesPrefix("shapes")
    public static class Settings {
        public String name = "default";
        public int limit = 5;
    }

    /** Something to keep as JSON. */
    public record Kept(long id, String name) {}

    @Override
    public ClientRequest transform(ClientRequest request) {
        return request.withClientIp(switch (request.clientIp()) {
            case "config" -> {
                Settings settings = loadProperties(Settings.class);
                yield settings.name + " " + settings.limit;
            }
            case "bytes" -> {
                storage().set("k1", new byte[] {0, (byte) 255});
                storage().setText("k2", "");
                storage().set("k3", new byte[0]);
                yield Arrays.toString(storage().get("k1")) + " " + storage().getText("k2").length() + " " + storage().get("k3").length + " " + storage().get("k4");
            }
            case "json" -> {
                storage().setJson("json", new Kept(Long.MIN_VALUE, "👋"));
                yield String.valueOf(storage().get("json", Kept.class));
            }
            case "state" -> String.valueOf(state());
            case "folder" -> {
                try {
                    Path file = Files.writeString(dataFolder().resolve("file.txt"), "line\n", StandardOpenOption.CREATE, StandardOpenOption.APPEND);
                    int lines = Files.readAllLines(file).size();
                    yield lines + (lines == 1 ? " line" : " lines");
                } catch (IOException e) {
                    throw new UncheckedIOException(e);
                }
            }
            case "debug" -> {
                AtomicInteger made = new AtomicInteger();
                logger().debug(() -> "made " + made.incrementAndGet());
                logger().debug("plain {}", 1);
                logger().info(() -> "made " + made.incrementAndGet());
                yield logger().isDebugEnabled() + " " + logger().isInfoEnabled() + " " + made;
            }
            case "many debug lines" -> {
                long begin = System.nanoTime();
                for (long i = 0; i < request.userId(); i++) {
                    logger().debug("line {} of {}", i, request);
                }
                yield String.valueOf(System.nanoTime() - begin);
            }
            default -> throw new IllegalArgumentException(request.clientIp());
        });
    }

    @Override
    public Integer countActiveMeetingsByUserId(long userId) {
        return null;
    }
}
