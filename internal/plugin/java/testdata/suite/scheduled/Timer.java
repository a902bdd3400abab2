// SPDX-License-Identifier: Apache-2.0

package scheduled;

import im.app.plugin.AppException;
import im.app.plugin.AppExtension;
import im.app.plugin.Schedule;
import im.app.plugin.ScheduleOptions;
import im.app.plugin.model.AdminAction;
import im.app.server.common.infra.plugin.extension.AdminActionHandler;
import java.time.Duration;

public class Timer extends AppExtension implements AdminActionHandler {
    private static ScheduleOptions named(String name) {
        return ScheduleOptions.DEFAULT.named(name);
    }

    private String code(String when, String name) {
        try {
            schedule(when, named(name), slot -> {});
            return "none";
        } catch (AppException e) {
            return String.valueOf(e.code());
        }
    }

    @Override
    public void start() {
        schedule("1s", named("tick"), slot -> {
            if (slot.toEpochMilli() % 1000 == 0) {
                storage().setText("tick", "yes");
            }
        });
        schedule(Duration.ofMillis(1000), named("fail"), slot -> {
            throw new IllegalStateException("told to fail");
        });
        Schedule gone = schedule("1s", named("gone"), slot -> {});
        storage().setText("gone", gone.cancel() + " " + gone.cancel());
        schedule("0 3 * * *", ScheduleOptions.onLeader(), slot -> {});
        storage().setText("refused", code("1s", "tick") + " " + code("x", "a") + " " + code("999ms", "b") + " " + code("0 0 30 2 *", "c"));
        if (storage().getText("again") == null) {
            storage().setText("again", "yes");
            throw new IllegalStateException("the first start fails");
        }
    }

    @Override
    public void handleAdminAction(AdminAction action) {}
}
