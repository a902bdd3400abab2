// SPDX-License-Identifier: Apache-2.0

package echo;

import im.app.plugin.AppExtension;
import im.app.plugin.model.ClientRequest;
import im.app.plugin.model.CreateMeetingOptions;
import im.app.plugin.model.DateRange;
import im.app.plugin.model.DomainEvent;
import im.app.plugin.model.Meeting;
import im.app.plugin.model.MeetingAccess;
import im.app.plugin.model.Notification;
import im.app.plugin.model.RequestHandlerResult;
import im.app.plugin.model.StorageResourceInfo;
import im.app.plugin.model.StoredMessage;
import im.app.proto.AppRequest;
import im.app.proto.DeviceType;
import im.app.proto.Value;
import im.app.service.infra.plugin.extension.ClientRequestHandler;
import im.app.service.infra.plugin.extension.ConferenceServiceProvider;
import im.app.service.infra.plugin.extension.DomainEventConsumer;
import im.app.service.infra.plugin.extension.DomainEventHandler;
import im.app.service.infra.plugin.extension.ExpiredMessageDeletionNotifier;
import im.app.service.infra.plugin.extension.RequestHandlerResultHandler;
import im.app.service.infra.plugin.extension.StorageServiceProvider;
import java.time.Instant;
import java.util.List;
import java.util.Map;
import text.Text;

public class Serve extends AppExtension
        implements ClientRequestHandler, RequestHandlerResultHandler, ExpiredMessageDeletionNotifier, StorageServiceProvider, ConferenceServiceProvider,
                DomainEventHandler, DomainEventConsumer {
    private String note(String method, Object... values) {
        String text = Text.of(values);
        storage().setText(method, text);
        return text;
    }

    private static Map<String, String> seen(String text) {
        return Map.of("seen", text);
    }

    private static List<StorageResourceInfo> infos(long requester) {
        return List.of(
                new StorageResourceInfo(requester, "👋", "👋", "", requester, Instant.ofEpochMilli(-1)),
                new StorageResourceInfo(null, null, "n", "m", 0, Instant.EPOCH));
    }

    @Override
    public ClientRequest transform(ClientRequest request) {
        note("transform");
        return request;
    }

    @Override
    public RequestHandlerResult handle(ClientRequest request) {
        note("handle");
        return new RequestHandlerResult(1000, request.clientIp(), null, List.of(new Notification(true, List.of(request.userId()), request.request())));
    }

    @Override
    public RequestHandlerResult beforeNotify(RequestHandlerResult result, long requesterId, DeviceType requesterDevice) {
        note("beforeNotify", requesterId, requesterDevice);
        return result;
    }

    @Override
    public RequestHandlerResult afterNotify(RequestHandlerResult result, long requesterId, DeviceType requesterDevice, List<Long> offlineRecipientIds) {
        note("afterNotify", requesterId, requesterDevice, offlineRecipientIds);
        return result;
    }

    @Override
    public List<StoredMessage> getMessagesToDelete(List<StoredMessage> messages) {
        note("getMessagesToDelete");
        return messages;
    }

    @Override
    public void deleteUserProfilePicture(long requesterId, List<Value> customAttributes) {
        note("deleteUserProfilePicture", requesterId, customAttributes.size());
    }

    @Override
    public Map<String, String> queryUserProfilePictureUploadInfo(long requesterId, String resourceName, String resourceMediaType, List<Value> customAttributes) {
        notify(List.of(requesterId), AppRequest.newBuilder().addAllCustomAttributes(customAttributes).build());
        return seen(note("queryUserProfilePictureUploadInfo", requesterId, resourceName, resourceMediaType, customAttributes.size()));
    }

    @Override
    public Map<String, String> queryUserProfilePictureDownloadInfo(long requesterId, long userId, List<Value> customAttributes) {
        return seen(note("queryUserProfilePictureDownloadInfo", requesterId, userId, customAttributes.size()));
    }

    @Override
    public void deleteGroupProfilePicture(long requesterId, long groupId, List<Value> customAttributes) {
        note("deleteGroupProfilePicture", requesterId, groupId, customAttributes.size());
    }

    @Override
    public Map<String, String> queryGroupProfilePictureUploadInfo(long requesterId, long groupId, String resourceName, String resourceMediaType, List<Value> customAttributes) {
        return seen(note("queryGroupProfilePictureUploadInfo", requesterId, groupId, resourceName, resourceMediaType, customAttributes.size()));
    }

    @Override
    public Map<String, String> queryGroupProfilePictureDownloadInfo(long requesterId, long groupId, List<Value> customAttributes) {
        return seen(note("queryGroupProfilePictureDownloadInfo", requesterId, groupId, customAttributes.size()));
    }

    @Override
    public void deleteMessageAttachment(long requesterId, Long idNum, String idStr, List<Value> customAttributes) {
        note("deleteMessageAttachment", requesterId, idNum, idStr, customAttributes.size());
    }

    @Override
    public void shareMessageAttachmentWithUser(long requesterId, Long idNum, String idStr, long userId) {
        note("shareMessageAttachmentWithUser", requesterId, idNum, idStr, userId);
    }

    @Override
    public void shareMessageAttachmentWithGroup(long requesterId, Long idNum, String idStr, long groupId) {
        note("shareMessageAttachmentWithGroup", requesterId, idNum, idStr, groupId);
    }

    @Override
    public void unshareMessageAttachmentWithUser(long requesterId, Long idNum, String idStr, long userId) {
        note("unshareMessageAttachmentWithUser", requesterId, idNum, idStr, userId);
    }

    @Override
    public void unshareMessageAttachmentWithGroup(long requesterId, Long idNum, String idStr, long groupId) {
        note("unshareMessageAttachmentWithGroup", requesterId, idNum, idStr, groupId);
    }

    @Override
    public Map<String, String> queryMessageAttachmentUploadInfo(long requesterId, String resourceName, String resourceMediaType, List<Value> customAttributes) {
        return seen(note("queryMessageAttachmentUploadInfo", requesterId, resourceName, resourceMediaType, customAttributes.size()));
    }

    @Override
    public Map<String, String> queryMessageAttachmentUploadInfoInPrivateConversation(long requesterId, long userId, String resourceName, String resourceMediaType, List<Value> customAttributes) {
        return seen(note("queryMessageAttachmentUploadInfoInPrivateConversation", requesterId, userId, resourceName, resourceMediaType, customAttributes.size()));
    }

    @Override
    public Map<String, String> queryMessageAttachmentUploadInfoInGroupConversation(long requesterId, long groupId, String resourceName, String resourceMediaType, List<Value> customAttributes) {
        return seen(note("queryMessageAttachmentUploadInfoInGroupConversation", requesterId, groupId, resourceName, resourceMediaType, customAttributes.size()));
    }

    @Override
    public Map<String, String> queryMessageAttachmentDownloadInfo(long requesterId, Long idNum, String idStr, List<Value> customAttributes) {
        return seen(note("queryMessageAttachmentDownloadInfo", requesterId, idNum, idStr, customAttributes.size()));
    }

    @Override
    public List<StorageResourceInfo> queryMessageAttachmentInfosUploadedByRequester(long requesterId, DateRange creationDateRange) {
        note("queryMessageAttachmentInfosUploadedByRequester", requesterId, creationDateRange);
        return infos(requesterId);
    }

    @Override
    public List<StorageResourceInfo> queryMessageAttachmentInfosInPrivateConversations(long requesterId, List<Long> userIds, DateRange creationDateRange, Boolean areSharedByRequester) {
        note("queryMessageAttachmentInfosInPrivateConversations", requesterId, userIds, creationDateRange, areSharedByRequester);
        return infos(requesterId);
    }

    @Override
    public List<StorageResourceInfo> queryMessageAttachmentInfosInGroupConversations(long requesterId, List<Long> groupIds, List<Long> userIds, DateRange creationDateRange) {
        note("queryMessageAttachmentInfosInGroupConversations", requesterId, groupIds, userIds, creationDateRange);
        return infos(requesterId);
    }

    @Override
    public MeetingAccess createMeeting(long requesterId, Meeting meeting, CreateMeetingOptions options) {
        return new MeetingAccess(note("createMeeting", requesterId, meeting, options));
    }

    @Override
    public void cancelMeeting(long requesterId, long meetingId) {
        note("cancelMeeting", requesterId, meetingId);
    }

    @Override
    public Integer countActiveMeetingsByUserId(long userId) {
        note("countActiveMeetingsByUserId", userId);
        return userId > 0 ? Integer.MAX_VALUE : Integer.MIN_VALUE;
    }

    @Override
    public MeetingAccess acceptMeetingInvitation(long requesterId, long meetingId) {
        return new MeetingAccess(note("acceptMeetingInvitation", requesterId, meetingId));
    }

    @Override
    public void handleDomainEvents(List<DomainEvent> events) {
        note("handleDomainEvents", events);
    }

    @Override
    public void consumeDomainEvents(List<DomainEvent> events) {
        note("consumeDomainEvents", events);
    }
}
