// SPDX-License-Identifier: Apache-2.0

package points;

import im.app.gateway.infra.plugin.extension.NotificationHandler;
import im.app.gateway.infra.plugin.extension.UserAuthenticator;
import im.app.gateway.infra.plugin.extension.UserOnlineStatusChangeHandler;
import im.app.plugin.AppExtension;
import im.app.plugin.PropertiesPrefix;
import im.app.plugin.model.AdminAction;
import im.app.plugin.model.ClientRequest;
import im.app.plugin.model.CloseReason;
import im.app.plugin.model.CreateMeetingOptions;
import im.app.plugin.model.DateRange;
import im.app.plugin.model.Meeting;
import im.app.plugin.model.MeetingAccess;
import im.app.plugin.model.Message;
import im.app.plugin.model.RequestHandlerResult;
import im.app.plugin.model.StorageResourceInfo;
import im.app.plugin.model.UserLoginInfo;
import im.app.plugin.model.UserSession;
import im.app.plugin.model.UserSessions;
import im.app.proto.AppNotification;
import im.app.proto.DeviceType;
import im.app.proto.Value;
import im.app.server.common.infra.plugin.extension.AdminActionHandler;
import im.app.service.infra.plugin.extension.ClientRequestHandler;
import im.app.service.infra.plugin.extension.ConferenceServiceProvider;
import im.app.service.infra.plugin.extension.ExpiredMessageDeletionNotifier;
import im.app.service.infra.plugin.extension.RequestHandlerResultHandler;
import im.app.service.infra.plugin.extension.StorageServiceProvider;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;

/** Sends what it gets back, or notes it. */
public class Points extends AppExtension
        implements AdminActionHandler,
                UserAuthenticator,
                UserOnlineStatusChangeHandler,
                NotificationHandler,
                ClientRequestHandler,
                RequestHandlerResultHandler,
                ExpiredMessageDeletionNotifier,
                StorageServiceProvider,
                ConferenceServiceProvider {
    private void note(Object... what) {
        storage().setText("last", List.of(what).toString());
    }

    @Override
    public void handleAdminAction(AdminAction action) {
        note(action);
    }

    @Override
    public Boolean authenticate(UserLoginInfo info) {
        note(info);
        return info.password() == null ? null : info.password().equals("open");
    }

    @Override
    public void goOnline(UserSessions sessions, UserSession session) {
        note(sessions, session);
    }

    @Override
    public void goOffline(UserSessions sessions, CloseReason reason) {
        note(sessions, reason);
    }

    @Override
    public void handle(AppNotification notification, List<Long> recipientIds, List<Long> offlineRecipientIds) {
        note(HexFormat.of().formatHex(notification.toByteArray()), recipientIds, offlineRecipientIds);
    }

    @Override
    public ClientRequest transform(ClientRequest request) {
        return switch (request.clientIp()) {
            case "nothing" -> null;
            case "config" -> {
                Settings settings = loadProperties(Settings.class);
                yield request.withClientIp(settings.name + " " + settings.limit);
            }
            case "notify" -> {
                notify(List.of(1L, Long.MAX_VALUE), request.request());
                yield request;
            }
            case "keys" -> {
                storage().set("k1", new byte[] {0, (byte) 255});
                storage().setText("k2", "");
                byte[] back = storage().get("k1");
                String found = storage().keys("k") + " " + back.length + " " + storage().get("k3") + " " + storage().delete("k1") + storage().delete("k1");
                yield request.withClientIp(found);
            }
            case "node" -> request.withClientIp(node() + " " + descriptor().id() + " " + state());
            default -> request;
        };
    }

    /** Settings of the plugin. */
    @PropertiesPrefix("points")
    public static class Settings {
        public String name = "default";
        public int limit = 5;
    }

    @Override
    public RequestHandlerResult beforeNotify(RequestHandlerResult result, long requesterId, DeviceType device) {
        note(requesterId, device);
        return result;
    }

    @Override
    public RequestHandlerResult afterNotify(RequestHandlerResult result, long requesterId, DeviceType device, List<Long> offline) {
        note(requesterId, device, offline);
        return result;
    }

    @Override
    public List<Message> getMessagesToDelete(List<Message> messages) {
        return messages;
    }

    @Override
    public void deleteUserProfilePicture(long requesterId, List<Value> attributes) {
        note(requesterId, attributes.size());
    }

    @Override
    public Map<String, String> queryUserProfilePictureUploadInfo(long requesterId, String name, String type, List<Value> attributes) {
        return Map.of("url", requesterId + " " + name + " " + type + " " + attributes.size(), "", "empty");
    }

    @Override
    public List<StorageResourceInfo> queryMessageAttachmentInfosInPrivateConversations(long requesterId, List<Long> userIds, DateRange range, Boolean shared) {
        return List.of(
                new StorageResourceInfo(requesterId, String.valueOf(shared), String.valueOf(userIds), "", Long.MIN_VALUE, range.start()),
                new StorageResourceInfo(null, null, "", "", 0, java.time.Instant.EPOCH));
    }

    @Override
    public MeetingAccess createMeeting(long requesterId, Meeting meeting, CreateMeetingOptions options) {
        return new MeetingAccess(requesterId + " " + meeting + " " + options);
    }

    @Override
    public void cancelMeeting(long requesterId, long meetingId) {
        note(requesterId, meetingId);
    }

    @Override
    public Integer countActiveMeetingsByUserId(long userId) {
        return userId == 0 ? null : (int) userId;
    }
}
