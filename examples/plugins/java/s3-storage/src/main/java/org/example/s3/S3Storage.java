// SPDX-License-Identifier: Apache-2.0

package org.example.s3;

import im.app.plugin.AppException;
import im.app.plugin.AppExtension;
import im.app.plugin.PropertiesPrefix;
import im.app.plugin.StatusCode;
import im.app.plugin.api.groups.GroupMember;
import im.app.plugin.api.groups.QueryGroupMembers;
import im.app.plugin.model.DateRange;
import im.app.plugin.model.StorageResourceInfo;
import im.app.proto.Value;
import im.app.service.infra.plugin.extension.StorageServiceProvider;
import java.security.SecureRandom;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/**
 * Stores pictures and attachments in buckets of a service with the protocol of Amazon S3. Files
 * never pass through the server: clients get a signed form to upload and a signed URL to download.
 *
 * <p>There are three buckets, because clients look for files there: {@code user-profile-picture},
 * {@code group-profile-picture} and {@code message-attachment}. Create them first; {@code
 * bucket-prefix} is a prefix of their names. The id of an upload is the key of the object, because
 * clients write the id into the field {@code key} of the form, and it is a number, because clients
 * parse an id that begins with a digit as one.
 *
 * <pre>
 * s3-storage.endpoint=https://s3.example.org
 * s3-storage.bucket-prefix=
 * s3-storage.region=us-east-1
 * s3-storage.access-key=...
 * s3-storage.secret-key=...
 * s3-storage.max-size=10485760
 * </pre>
 *
 * <p>The access list of each attachment is in the storage of the plugin, which holds 10,000 values,
 * two per attachment. A larger service should store it in its own database.
 */
public class S3Storage extends AppExtension implements StorageServiceProvider {

    /** The properties. */
    @PropertiesPrefix("s3-storage")
    public static class Properties {
        public String endpoint;
        public String bucketPrefix = "";
        public String region = "us-east-1";
        public String accessKey;
        public String secretKey;
        public long maxSize = 10 << 20;
    }

    private static final List<String> MANAGERS = List.of("OWNER", "MANAGER");

    private final SecureRandom random = new SecureRandom();
    private volatile Bucket users;
    private volatile Bucket groups;
    private volatile Bucket attachments;

    @Override
    public void start() {
        Properties p = loadProperties(Properties.class);
        if (p.endpoint == null || p.accessKey == null || p.secretKey == null) {
            throw new IllegalArgumentException("s3-storage needs endpoint, access-key and secret-key");
        }
        users = new Bucket("user-profile-picture", p);
        groups = new Bucket("group-profile-picture", p);
        attachments = new Bucket("message-attachment", p);
    }

    @Override
    public void stop() throws InterruptedException {
        for (Bucket bucket : new Bucket[] {users, groups, attachments}) {
            if (bucket != null) {
                bucket.close();
            }
        }
    }

    // Profile pictures of users: all users can see them; users can only change their own.

    @Override
    public void deleteUserProfilePicture(long requesterId, List<Value> customAttributes) throws Exception {
        users.delete(String.valueOf(requesterId));
    }

    @Override
    public Map<String, String> queryUserProfilePictureUploadInfo(long requesterId, String resourceName, String resourceMediaType, List<Value> customAttributes) {
        return users.uploadForm(String.valueOf(requesterId), resourceMediaType == null ? "image/png" : resourceMediaType);
    }

    @Override
    public Map<String, String> queryUserProfilePictureDownloadInfo(long requesterId, long userId, List<Value> customAttributes) {
        return Map.of("url", users.address("GET", String.valueOf(userId)));
    }

    // Pictures of groups: the owner and managers can change them.

    @Override
    public void deleteGroupProfilePicture(long requesterId, long groupId, List<Value> customAttributes) throws Exception {
        mustBeIn(groupId, requesterId, MANAGERS);
        groups.delete(String.valueOf(groupId));
    }

    @Override
    public Map<String, String> queryGroupProfilePictureUploadInfo(
            long requesterId, long groupId, String resourceName, String resourceMediaType, List<Value> customAttributes) {
        mustBeIn(groupId, requesterId, MANAGERS);
        return groups.uploadForm(String.valueOf(groupId), resourceMediaType == null ? "image/png" : resourceMediaType);
    }

    @Override
    public Map<String, String> queryGroupProfilePictureDownloadInfo(long requesterId, long groupId, List<Value> customAttributes) {
        return Map.of("url", groups.address("GET", String.valueOf(groupId)));
    }

    // Attachments: visible to their uploader and to those with whom they are shared.

    @Override
    public Map<String, String> queryMessageAttachmentUploadInfo(
            long requesterId, String resourceName, String resourceMediaType, List<Value> customAttributes) {
        return upload(requesterId, resourceName, resourceMediaType, List.of(), List.of());
    }

    @Override
    public Map<String, String> queryMessageAttachmentUploadInfoInPrivateConversation(
            long requesterId, long userId, String resourceName, String resourceMediaType, List<Value> customAttributes) {
        return upload(requesterId, resourceName, resourceMediaType, List.of(userId), List.of());
    }

    @Override
    public Map<String, String> queryMessageAttachmentUploadInfoInGroupConversation(
            long requesterId, long groupId, String resourceName, String resourceMediaType, List<Value> customAttributes) {
        mustBeIn(groupId, requesterId, null);
        return upload(requesterId, resourceName, resourceMediaType, List.of(), List.of(groupId));
    }

    @Override
    public Map<String, String> queryMessageAttachmentDownloadInfo(long requesterId, Long idNum, String idStr, List<Value> customAttributes) {
        String id = id(idNum, idStr);
        Attachment attachment = find(id);
        boolean direct = attachment.uploader() == requesterId || attachment.users().contains(requesterId);
        if (!direct && !isIn(attachment.groups(), requesterId, null)) {
            throw new AppException(StatusCode.UNAUTHORIZED, "the attachment is not shared with you");
        }
        return Map.of("url", attachments.address("GET", id));
    }

    @Override
    public void deleteMessageAttachment(long requesterId, Long idNum, String idStr, List<Value> customAttributes) throws Exception {
        String id = id(idNum, idStr);
        findOwn(id, requesterId);
        attachments.delete(id);
        storage().delete("attachment/" + id);
        storage().delete("uploaded/" + requesterId + "/" + id);
    }

    @Override
    public void shareMessageAttachmentWithUser(long requesterId, Long idNum, String idStr, long userId) {
        String id = id(idNum, idStr);
        storage().setJson("attachment/" + id, findOwn(id, requesterId).sharedWithUser(userId, true));
    }

    @Override
    public void shareMessageAttachmentWithGroup(long requesterId, Long idNum, String idStr, long groupId) {
        mustBeIn(groupId, requesterId, null);
        String id = id(idNum, idStr);
        storage().setJson("attachment/" + id, findOwn(id, requesterId).sharedWithGroup(groupId, true));
    }

    @Override
    public void unshareMessageAttachmentWithUser(long requesterId, Long idNum, String idStr, long userId) {
        String id = id(idNum, idStr);
        storage().setJson("attachment/" + id, findOwn(id, requesterId).sharedWithUser(userId, false));
    }

    @Override
    public void unshareMessageAttachmentWithGroup(long requesterId, Long idNum, String idStr, long groupId) {
        String id = id(idNum, idStr);
        storage().setJson("attachment/" + id, findOwn(id, requesterId).sharedWithGroup(groupId, false));
    }

    @Override
    public List<StorageResourceInfo> queryMessageAttachmentInfosUploadedByRequester(long requesterId, DateRange creationDateRange) {
        List<StorageResourceInfo> infos = new ArrayList<>();
        for (String key : storage().keys("uploaded/" + requesterId + "/")) {
            String id = key.substring(key.lastIndexOf('/') + 1);
            Attachment a = storage().get("attachment/" + id, Attachment.class);
            if (a == null || creationDateRange != null && !creationDateRange.contains(a.created())) {
                continue; // It was deleted, or is not requested.
            }
            infos.add(new StorageResourceInfo(Long.valueOf(id), null, a.name(), a.mediaType(), requesterId, a.created()));
        }
        return infos;
    }

    private Map<String, String> upload(long requesterId, String name, String mediaType, List<Long> users, List<Long> groups) {
        String id = String.valueOf(random.nextLong(1L << 52)); // Exact in all clients.
        String type = mediaType == null ? "application/octet-stream" : mediaType;
        storage().setJson("attachment/" + id, new Attachment(requesterId, name == null ? "file" : name, type, Instant.now(), users, groups));
        storage().setJson("uploaded/" + requesterId + "/" + id, true);
        return attachments.uploadForm(id, type);
    }

    private static String id(Long idNum, String idStr) {
        return idNum == null ? idStr : idNum.toString();
    }

    private Attachment find(String id) {
        Attachment attachment = id == null ? null : storage().get("attachment/" + id, Attachment.class);
        if (attachment == null) {
            throw new AppException(StatusCode.RESOURCE_NOT_FOUND, "there is no such attachment");
        }
        return attachment;
    }

    private Attachment findOwn(String id, long owner) {
        Attachment attachment = find(id);
        if (attachment.uploader() != owner) {
            throw new AppException(StatusCode.UNAUTHORIZED, "only who uploaded an attachment may change it");
        }
        return attachment;
    }

    private boolean isIn(List<Long> groupIds, long userId, List<String> roles) {
        if (groupIds.isEmpty()) {
            return false;
        }
        List<GroupMember> members = api().groupsMembers().query(new QueryGroupMembers().groupIds(groupIds).userIds(userId));
        return members != null && members.stream().anyMatch(m -> roles == null || roles.contains(m.role()));
    }

    private void mustBeIn(long groupId, long userId, List<String> roles) {
        if (!isIn(List.of(groupId), userId, roles)) {
            throw new AppException(StatusCode.UNAUTHORIZED, "you must be " + (roles == null ? "a member" : String.join(" or ", roles)) + " of the group");
        }
    }
}
