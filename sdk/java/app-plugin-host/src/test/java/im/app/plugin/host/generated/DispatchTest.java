// SPDX-License-Identifier: Apache-2.0

package im.app.plugin.host.generated;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;

import im.app.gateway.infra.plugin.extension.UserAuthenticator;
import im.app.plugin.AppException;
import im.app.plugin.AppExtension;
import im.app.plugin.host.wire.In;
import im.app.plugin.host.wire.Out;
import im.app.plugin.model.AdminAction;
import im.app.plugin.model.ClientRequest;
import im.app.plugin.model.Notification;
import im.app.plugin.model.RequestHandlerResult;
import im.app.plugin.model.StoredMessage;
import im.app.plugin.model.UserLoginInfo;
import im.app.proto.AppRequest;
import im.app.proto.CreateMessageRequest;
import im.app.proto.DeviceType;
import im.app.proto.UserStatus;
import im.app.proto.Value;
import im.app.server.common.infra.plugin.extension.AdminActionHandler;
import im.app.service.infra.plugin.extension.ClientRequestHandler;
import im.app.service.infra.plugin.extension.ExpiredMessageDeletionNotifier;
import im.app.service.infra.plugin.extension.StorageServiceProvider;
import java.time.Instant;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import org.junit.jupiter.api.Test;

/** Calls an extension as the server does, and compares the parameters and results on both sides. */
class DispatchTest {

    private static final class Everything extends AppExtension
            implements AdminActionHandler, UserAuthenticator, ClientRequestHandler, ExpiredMessageDeletionNotifier, StorageServiceProvider {
        final List<Object> got = new ArrayList<>();

        @Override
        public void handleAdminAction(AdminAction adminAction) {
            got.add(adminAction);
        }

        @Override
        public CompletionStage<Boolean> authenticateAsync(UserLoginInfo userLoginInfo) {
            got.add(userLoginInfo);
            return userLoginInfo.password() == null ? null : CompletableFuture.supplyAsync(() -> {
                if (userLoginInfo.password().isEmpty()) {
                    throw new AppException(2011, "no password");
                }
                return true;
            });
        }

        @Override
        public ClientRequest transform(ClientRequest clientRequest) {
            got.add(clientRequest);
            return clientRequest.request() == null ? null : clientRequest.editRequest(r -> r.getCreateMessageRequestBuilder().setText("changed"));
        }

        @Override
        public RequestHandlerResult handle(ClientRequest clientRequest) {
            return RequestHandlerResult.ofDataLong(7).withNotifications(List.of(new Notification(true, List.of(5L, -6L), clientRequest.request())));
        }

        @Override
        public List<StoredMessage> getMessagesToDelete(List<StoredMessage> messages) {
            got.addAll(messages);
            return messages;
        }

        @Override
        public Map<String, String> queryMessageAttachmentUploadInfo(long requesterId, String resourceName, String resourceMediaType, List<Value> customAttributes) {
            got.add(resourceName);
            got.add(resourceMediaType);
            got.addAll(customAttributes);
            Map<String, String> map = new HashMap<>();
            map.put("url", "u");
            map.put("nothing", null);
            return map;
        }
    }

    private final Everything extension = new Everything();

    private Object call(Class<?> point, String name, boolean async, Object... args) throws Exception {
        for (PointInfo p : Dispatch.POINTS) {
            for (int i = 0; p.type() == point && i < p.methods().size(); i++) {
                if (p.methods().get(i).name().equals(name)) {
                    Out arguments = new Out();
                    Arguments.write(p.first() + i, args, arguments);
                    Out answer = new Out();
                    In in = new In(arguments.toByteArray());
                    Dispatch.call(p.first() + i, extension, async, in, answer);
                    assertEquals(0, in.remaining());
                    In back = new In(answer.toByteArray());
                    Object value = Arguments.read(p.first() + i, back);
                    assertEquals(0, back.remaining());
                    return value;
                }
            }
        }
        throw new AssertionError("there is no " + name);
    }

    @Test
    void carriesAllKindsOfValues() throws Exception {
        AdminAction action = new AdminAction(-5L, "::1", Instant.ofEpochMilli(-1), "createUser", Map.of("a", List.of(1L, "x", true)), -1, 1000);
        assertNull(call(AdminActionHandler.class, "handleAdminAction", false, action));
        AdminAction nobody = new AdminAction(null, "", Instant.EPOCH, null, null, 0, 0);
        call(AdminActionHandler.class, "handleAdminAction", false, nobody);
        assertEquals(List.of(action, nobody), extension.got);
    }

    @Test
    void waitsForStages() throws Exception {
        UserLoginInfo info = new UserLoginInfo(1, Long.MAX_VALUE, "p", DeviceType.ANDROID, Map.of("k", "v"), UserStatus.BUSY,
                new im.app.plugin.model.Location(1.5f, -2.5f, Instant.ofEpochMilli(9), null), "10.0.0.1");
        assertEquals(true, call(UserAuthenticator.class, "authenticate", true, info));
        assertEquals(List.of(info), extension.got);
        UserLoginInfo silent = new UserLoginInfo(1, 1, null, DeviceType.ANDROID, null, null, null, "");
        assertNull(call(UserAuthenticator.class, "authenticate", true, silent));
        UserLoginInfo refused = new UserLoginInfo(1, 1, "", DeviceType.ANDROID, null, null, null, "");
        AppException e = assertThrows(AppException.class, () -> call(UserAuthenticator.class, "authenticate", true, refused));
        assertEquals(2011, e.code());
    }

    @Test
    void carriesMessagesOfTheProtocol() throws Exception {
        AppRequest hello = AppRequest.newBuilder().setCreateMessageRequest(CreateMessageRequest.newBuilder().setText("hello")).build();
        ClientRequest request = new ClientRequest(5, DeviceType.BROWSER, "::1", 3, hello);
        ClientRequest changed = (ClientRequest) call(ClientRequestHandler.class, "transform", false, request);
        assertEquals("changed", changed.request().getCreateMessageRequest().getText());
        assertNull(call(ClientRequestHandler.class, "transform", false, request.withRequest(null)));
        RequestHandlerResult result = (RequestHandlerResult) call(ClientRequestHandler.class, "handle", false, request);
        assertEquals(7, result.response().getLong());
        assertEquals(List.of(new Notification(true, List.of(5L, -6L), hello)), result.notifications());
    }

    @Test
    void carriesListsAndBytes() throws Exception {
        StoredMessage message = StoredMessage.builder().id(1).conversationId(new byte[] {1, 2}).text("x").records(List.of(new byte[] {3}, new byte[0])).sequenceId(-4).build();
        List<?> back = (List<?>) call(ExpiredMessageDeletionNotifier.class, "getMessagesToDelete", false, List.of(message, message));
        StoredMessage first = (StoredMessage) back.getFirst();
        assertEquals(2, back.size());
        assertArrayEquals(message.conversationId(), first.conversationId());
        assertArrayEquals(new byte[] {3}, first.records().getFirst());
        assertEquals(-4, first.sequenceId());
        assertNull(first.deletionDate());
        assertEquals(List.of(), call(ExpiredMessageDeletionNotifier.class, "getMessagesToDelete", false, List.of()));
    }

    @Test
    void carriesOptionalParametersAndMaps() throws Exception {
        Value value = Value.newBuilder().setInt32Value(3).build();
        assertEquals(Map.of("url", "u"), call(StorageServiceProvider.class, "queryMessageAttachmentUploadInfo", false, 5L, "name", null, List.of(value)));
        assertEquals("name", extension.got.get(0));
        assertNull(extension.got.get(1));
        assertEquals(value, extension.got.get(2));
    }
}
