// SPDX-License-Identifier: Apache-2.0

package org.example.s3;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import im.app.plugin.AppException;
import im.app.plugin.model.StorageResourceInfo;
import im.app.plugin.test.PluginRunner;
import im.app.service.infra.plugin.extension.StorageServiceProvider;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

class S3StorageTest {

    private static PluginRunner.Builder storage() {
        return PluginRunner.of(S3StoragePlugin.class).property("s3-storage.endpoint", "https://s3.example.org/").property("s3-storage.bucket-prefix", "chat-")
                .property("s3-storage.access-key", "operator").property("s3-storage.secret-key", "very/secret");
    }

    @Test
    void sharesAttachments() throws Exception {
        try (PluginRunner plugin = storage().start()) {
            StorageServiceProvider provider = plugin.point(StorageServiceProvider.class);
            Map<String, String> form = provider.queryMessageAttachmentUploadInfoInPrivateConversation(5, 6, "Grüße.txt", "text/plain", List.of());
            assertEquals("https://s3.example.org/chat-message-attachment", form.get("url"));
            assertEquals(form.get("key"), form.get("id"));
            long id = Long.parseLong(form.get("id"));
            for (long user : List.of(5L, 6L)) {
                String url = provider.queryMessageAttachmentDownloadInfo(user, id, null, List.of()).get("url");
                assertTrue(url.startsWith("https://s3.example.org/chat-message-attachment/" + id + "?X-Amz-Algorithm=AWS4-HMAC-SHA256&X-Amz-Credential=operator%2F"), url);
            }
            AppException e = assertThrows(AppException.class, () -> provider.queryMessageAttachmentDownloadInfo(7, id, null, List.of()));
            assertEquals("the attachment is not shared with you", e.reason());
            provider.shareMessageAttachmentWithUser(5, id, null, 7);
            provider.queryMessageAttachmentDownloadInfo(7, id, null, List.of());
            List<StorageResourceInfo> infos = provider.queryMessageAttachmentInfosUploadedByRequester(5, null);
            assertEquals("Grüße.txt", infos.getFirst().name());
            assertEquals(id, infos.getFirst().idNum());
        }
    }

    @Test
    void onlyManagersChangePicturesOfGroups() throws Exception {
        try (PluginRunner plugin = storage().answer("queryGroupMembers", input -> List.of(Map.of("groupId", 1, "userId", 5, "role", "MEMBER"))).start()) {
            AppException e = assertThrows(AppException.class,
                    () -> plugin.point(StorageServiceProvider.class).queryGroupProfilePictureUploadInfo(5, 1, null, null, List.of()));
            assertEquals("you must be OWNER or MANAGER of the group", e.reason());
        }
    }
}
