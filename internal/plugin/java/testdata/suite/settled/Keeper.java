// SPDX-License-Identifier: Apache-2.0

package settled;

import im.app.plugin.AppExtension;
import im.app.plugin.model.AdminAction;
import im.app.server.common.infra.plugin.extension.AdminActionHandler;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.Collectors;

public class Keeper extends AppExtension implements AdminActionHandler {
    public record Limits(List<Double> rates) {}

    public record Settings(String greeting, long count, String token, Limits limits) {}

    private static String text(Object v) {
        if (v instanceof List<?> list) {
            return list.stream().map(Keeper::text).collect(Collectors.joining(",", "[", "]"));
        }
        if (v instanceof Map<?, ?> map) {
            return new TreeMap<>(map).entrySet().stream().map(e -> e.getKey() + "=" + text(e.getValue())).collect(Collectors.joining(",", "{", "}"));
        }
        return String.valueOf(v);
    }

    @Override
    public void start() {
        Settings s = settings(Settings.class);
        storage().setText("start", text(new TreeMap<>(Map.of(
                "greeting", s.greeting(), "count", s.count(), "token", s.token(), "limits", Map.of("rates", s.limits().rates())))));
    }

    @Override
    public void onSettingsChanged(Map<String, Object> settings) {
        storage().setText("changed", text(settings));
        if ("fail".equals(settings.get("greeting"))) {
            throw new IllegalStateException("told to fail");
        }
    }

    @Override
    public void handleAdminAction(AdminAction action) {}
}
