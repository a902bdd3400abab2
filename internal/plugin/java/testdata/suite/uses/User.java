// SPDX-License-Identifier: Apache-2.0

package uses;

import im.app.plugin.AppException;
import im.app.plugin.AppExtension;
import im.app.plugin.PropertiesPrefix;
import im.app.plugin.api.users.QueryUsers;
import im.app.plugin.model.ClientRequest;
import im.app.plugin.model.RequestHandlerResult;
import im.app.service.infra.plugin.extension.ClientRequestHandler;
import java.time.Instant;
import java.util.List;
import java.util.Map;
import text.Text;

public class User extends AppExtension implements ClientRequestHandler {
    /** The properties that the suite sets. */
    @PropertiesPrefix("suite")
    public record Settings(Boolean on, Long limit, Double ratio, String name, List<Object> list, Map<String, Object> deep) {}

    @Override
    public RequestHandlerResult handle(ClientRequest request) {
        return RequestHandlerResult.of(1000, use(request));
    }

    private String use(ClientRequest request) {
        return switch (request.clientIp()) {
            case "node" -> Text.of(node().id(), node().role(), node().version());
            case "config" -> Text.of(loadProperties(Settings.class));
            case "api" -> Text.of(api().users().query(new QueryUsers().ids(Long.MAX_VALUE, Long.MIN_VALUE)).stream()
                    .flatMap(u -> List.of(u.id(), u.name()).stream()).toArray());
            case "refused" -> {
                try {
                    yield Text.of(api().users().query(new QueryUsers().ids(2L)).size());
                } catch (AppException e) {
                    yield Text.of(e.code(), e.reason());
                }
            }
            case "notify" -> {
                notify(List.of(request.userId()), request.request());
                yield "ok";
            }
            case "storage" -> {
                String none = storage().getText("none");
                storage().setText("a", "text 👋");
                storage().setText("b/1", "x");
                yield Text.of(none, storage().getText("a"), storage().keys(""), storage().keys("b/"),
                        storage().delete("a"), storage().delete("a"), storage().keys(""));
            }
            case "badkey" -> {
                try {
                    storage().setText("", "x");
                    yield "kept";
                } catch (AppException e) {
                    yield Text.of(e.code());
                }
            }
            case "ended" -> {
                meetingEnded(7, Instant.parse("2026-01-02T03:04:05.678Z"));
                yield "ok";
            }
            default -> throw new IllegalArgumentException(request.clientIp());
        };
    }
}
