// SPDX-License-Identifier: Apache-2.0

package echo;

import im.app.gateway.infra.plugin.extension.NotificationHandler;
import im.app.gateway.infra.plugin.extension.UserAuthenticator;
import im.app.gateway.infra.plugin.extension.UserOnlineStatusChangeHandler;
import im.app.plugin.AppExtension;
import im.app.plugin.model.AdminAction;
import im.app.plugin.model.ClientSession;
import im.app.plugin.model.ClientSessions;
import im.app.plugin.model.CloseReason;
import im.app.plugin.model.UserLoginInfo;
import im.app.proto.AppNotification;
import im.app.server.common.infra.plugin.extension.AdminActionHandler;
import java.util.ArrayList;
import java.util.List;
import text.Text;

public class Gate extends AppExtension implements AdminActionHandler, UserAuthenticator, UserOnlineStatusChangeHandler, NotificationHandler {
    private void note(String method, Object... values) {
        storage().setText(method, Text.of(values));
    }

    @Override
    public void handleAdminAction(AdminAction action) {
        note("handleAdminAction", action);
    }

    @Override
    public Boolean authenticate(UserLoginInfo info) {
        note("authenticate", info);
        return switch (info.password()) {
            case "yes" -> true;
            case "no" -> false;
            case null, default -> null;
        };
    }

    @Override
    public void goOnline(ClientSessions sessions, ClientSession session) {
        note("goOnline", sessions, session);
    }

    @Override
    public void goOffline(ClientSessions sessions, CloseReason reason) {
        note("goOffline", sessions, reason);
    }

    @Override
    public void handle(AppNotification notification, List<Long> recipients, List<Long> offline) {
        note("handle", recipients, offline);
        if (notification.hasRelayedRequest()) {
            List<Long> all = new ArrayList<>(recipients);
            all.addAll(offline);
            notify(all, notification.getRelayedRequest());
        }
    }
}
