// SPDX-License-Identifier: Apache-2.0

package life;

import im.app.plugin.AppExtension;
import im.app.plugin.PropertiesPrefix;
import im.app.plugin.model.AdminAction;
import im.app.server.common.infra.plugin.extension.AdminActionHandler;
import java.util.concurrent.CountDownLatch;

public class First extends AppExtension implements AdminActionHandler {
    @PropertiesPrefix("suite")
    public record Orders(String hang, String fail) {}

    @Override
    public void start() throws Exception {
        step("start");
    }

    @Override
    public void pause() throws Exception {
        step("pause");
    }

    @Override
    public void resume() throws Exception {
        step("resume");
    }

    @Override
    public void stop() throws Exception {
        step("stop");
    }

    private void step(String hook) throws Exception {
        Orders orders = loadProperties(Orders.class);
        if (hook.equals(orders.hang())) {
            new CountDownLatch(1).await();
        }
        if (hook.equals(orders.fail())) {
            throw new IllegalStateException("told to fail");
        }
        String before = storage().getText("hooks");
        storage().setText("hooks", (before == null ? "" : before) + hook + " ");
    }

    @Override
    public void handleAdminAction(AdminAction action) {}
}
