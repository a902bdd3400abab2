// SPDX-License-Identifier: Apache-2.0

package im.app.plugin;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;

import im.app.plugin.api.Api;
import im.app.plugin.api.Page;
import im.app.plugin.api.blockedclients.DeleteBlockedIps;
import im.app.plugin.api.conversations.DeleteConversations;
import im.app.plugin.api.flightrecordings.UpdateFlightRecordings;
import im.app.plugin.api.groups.DeleteAllGroups;
import im.app.plugin.api.groups.DeleteGroups;
import im.app.plugin.api.users.DeleteUsers;
import im.app.plugin.api.users.QueryUserPage;
import im.app.plugin.api.users.QueryUsers;
import im.app.plugin.api.users.User;
import im.app.plugin.api.users.UserCreation;
import im.app.plugin.json.Json;
import im.app.plugin.json.JsonException;
import im.app.plugin.model.ClientRequest;
import im.app.plugin.model.Notification;
import im.app.plugin.model.RequestHandlerResult;
import im.app.plugin.spi.Contexts;
import im.app.plugin.spi.ExtensionContext;
import im.app.plugin.spi.LogLevel;
import im.app.proto.AppRequest;
import im.app.proto.CreateMessageRequest;
import im.app.proto.DeviceType;
import java.nio.file.Path;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

class AppExtensionTest {

    static class Sample extends AppExtension {
        final ExtensionContext inConstructor = Contexts.current();
    }

    /** A server that returns the same text for every operation. */
    static class Fake implements ExtensionContext {
        final List<String> seen = new ArrayList<>();
        String answer;
        boolean debug = true;

        @Override
        public void log(LogLevel level, String logger, String message, Throwable thrown) {
            seen.add(level + " " + message + (thrown == null ? "" : " !" + thrown.getMessage()));
        }

        @Override
        public boolean enabled(LogLevel level) {
            return level != LogLevel.DEBUG || debug;
        }

        @Override
        public String call(String operation, String json) {
            seen.add(operation + " " + json);
            return answer;
        }

        @Override
        public Map<String, Object> config(String prefix) {
            return Map.of();
        }

        @Override
        public String settings() {
            return "{\"words\":[\"darn\"],\"limit\":3}";
        }

        @Override
        public void notifyUsers(Notification notification) {
            seen.add("notify " + notification.recipients());
        }

        @Override
        public void meetingEnded(long meetingId, Instant at) {
            seen.add("ended " + meetingId + " " + at);
        }

        @Override
        public Schedule schedule(String when, ScheduleOptions options, ScheduledTask task) {
            seen.add("schedule " + when + " " + options.name() + " " + options.leaderOnly());
            return null;
        }

        @Override
        public Storage storage() {
            return null;
        }

        @Override
        public Path dataFolder() {
            return Path.of("data");
        }

        @Override
        public Node node() {
            return new Node("n1", "SERVICE", "1");
        }

        @Override
        public Descriptor descriptor() {
            return new Descriptor("sample", "1");
        }

        @Override
        public <T> T bind(Class<T> type) {
            return null;
        }

        @Override
        public ExtensionState state() {
            return ExtensionState.STARTED;
        }
    }

    private final Fake server = new Fake();

    private Sample sample() {
        Sample s = new Sample();
        Contexts.attach(s, server);
        return s;
    }

    @Test
    void needsAServer() {
        IllegalStateException e = assertThrows(IllegalStateException.class, () -> new Sample().node());
        assertEquals(true, e.getMessage().startsWith("the server is not there"));
    }

    @Test
    void hasItsContextInTheConstructor() throws Exception {
        Sample s = Contexts.constructing(server, Sample::new);
        assertSame(server, s.inConstructor);
        assertEquals("n1", s.node().id());
        assertNull(Contexts.current());
    }

    @Test
    void schedules() {
        Sample s = sample();
        s.schedule("@daily", slot -> {});
        s.schedule("5m", ScheduleOptions.onLeader(), slot -> {});
        s.schedule(java.time.Duration.ofSeconds(90), ScheduleOptions.DEFAULT.named("x"), slot -> {});
        assertEquals(List.of("schedule @daily  false", "schedule 5m  true", "schedule 90000ms x false"), server.seen);
    }

    @Test
    void logsWithPlaces() {
        Logger log = sample().logger();
        log.info("{} of {} are there", 1, "two");
        log.warn("no place for", 3);
        log.error("failed: {}", "x", new IllegalStateException("why"));
        log.debug("{}", new IllegalStateException("in the text"));
        log.info("a {} without argument");
        log.info(null);
        assertEquals(List.of("INFO 1 of two are there", "WARN no place for 3", "ERROR failed: x !why",
                "DEBUG java.lang.IllegalStateException: in the text", "INFO a {} without argument", "INFO null"), server.seen);
    }

    @Test
    void makesOnlyLinesThatAreLogged() {
        server.debug = false;
        Logger log = sample().logger();
        log.debug("nobody reads {}", this);
        log.debug(() -> {
            throw new AssertionError("it is made");
        });
        log.info(() -> "made");
        assertEquals(List.of("INFO made"), server.seen);
        assertEquals(List.of(true, true, true, false), List.of(log.isErrorEnabled(), log.isWarnEnabled(), log.isInfoEnabled(), log.isDebugEnabled()));
    }

    @Test
    void callsOperations() {
        server.answer = "[{\"id\":9007199254740993,\"name\":\"Ann\",\"registrationDate\":\"2030-01-02T03:04:05Z\"}]";
        List<User> users = sample().api().users().query(new QueryUsers().ids(9007199254740993L).size(3));
        assertEquals(1, users.size());
        assertEquals(9007199254740993L, users.getFirst().id());
        assertEquals("Ann", users.getFirst().name());
        server.answer = null;
        assertNull(sample().api().users().create(new UserCreation().id(5L).name("Bob")));
        assertNull(sample().api().users().query());
        assertEquals(List.of("queryUsers {\"ids\":[9007199254740993],\"size\":3}", "createUser {\"body\":{\"id\":5,\"name\":\"Bob\"}}", "queryUsers {}"), server.seen);
    }

    @Test
    void decodesPages() {
        server.answer = "{\"total\":12,\"records\":[{\"id\":9007199254740993,\"name\":\"Ann\",\"registrationDate\":\"2030-01-02T03:04:05Z\"}],\"totalIsExact\":false}";
        Page<User> page = sample().api().users().queryPage(new QueryUserPage().size(1));
        assertEquals(12, page.total());
        assertEquals(false, page.totalIsExact());
        User ann = page.records().getFirst();
        assertEquals(9007199254740993L, ann.id());
        assertEquals(Instant.parse("2030-01-02T03:04:05Z"), ann.registrationDate());
        server.answer = Json.write(page);
        assertEquals(page, sample().api().users().queryPage());
        server.answer = "{\"total\":0}";
        assertEquals(new Page<User>(List.of(), 0, null), sample().api().users().queryPage());
        server.answer = null;
        assertNull(sample().api().users().queryPage());
        server.answer = "[]";
        assertThrows(JsonException.class, () -> sample().api().users().queryPage());
        server.answer = "{\"total\":1,\"records\":[{\"id\":\"Ann\"}]}";
        assertThrows(JsonException.class, () -> sample().api().users().queryPage());
    }

    /** What selects nothing means all to the server, if its settings allow that. */
    @Test
    void refusesToSelectNothing() {
        Api api = sample().api();
        IllegalArgumentException refused = assertThrows(IllegalArgumentException.class, () -> api.groups().delete(new DeleteGroups().deleteLogically(true)));
        assertEquals("the DeleteGroups selects nothing: ids must not be empty; for all of them call deleteAll()", refused.getMessage());
        refused = assertThrows(IllegalArgumentException.class, () -> api.conversations().delete(new DeleteConversations().ownerIds(List.of()).groupIds()));
        assertEquals("the DeleteConversations selects nothing: privateConversationKeys or ownerIds or groupIds must not be empty", refused.getMessage());
        assertThrows(IllegalArgumentException.class, () -> api.users().delete(new DeleteUsers().ids(List.of())));
        assertThrows(IllegalArgumentException.class, () -> api.flightRecordings().update(new UpdateFlightRecordings()));
        assertThrows(IllegalArgumentException.class, () -> api.blockedClientsIps().delete(new DeleteBlockedIps()));
        assertEquals(List.of(), server.seen);

        api.groups().delete(new DeleteGroups().ids(5L));
        api.groups().deleteAll();
        api.groups().deleteAll(new DeleteAllGroups().deleteLogically(true));
        api.conversations().delete(new DeleteConversations().groupIds(List.of(7L)));
        api.flightRecordings().updateAll();
        api.blockedClientsIps().deleteAll();
        assertEquals(List.of("deleteGroups {\"ids\":[5]}", "deleteGroups {}", "deleteGroups {\"deleteLogically\":true}", "deleteConversations {\"groupIds\":[7]}",
                "updateFlightRecordings {}", "deleteBlockedIps {\"deleteAll\":true}"), server.seen);
    }

    record Settings(List<String> words, int limit) {}

    @Test
    void hasSettings() {
        assertEquals(Map.of("words", List.of("darn"), "limit", 3L), sample().settings());
        assertEquals(new Settings(List.of("darn"), 3), sample().settings(Settings.class));
    }

    @Test
    void notifies() {
        sample().notify(List.of(5L, 6L), AppRequest.getDefaultInstance());
        assertEquals(List.of("notify [5, 6]"), server.seen);
    }

    @Test
    void exceptionsSayWhat() {
        assertEquals("MESSAGE_IS_ILLEGAL(5010): not here", new AppException(StatusCode.MESSAGE_IS_ILLEGAL, "not here").getMessage());
        assertEquals("OK(1000): ok", new AppException(1000).getMessage());
        assertEquals("(77)", new AppException(77).getMessage());
        assertNull(new AppException(77).reason());
    }

    @Test
    void recordsHaveShortcuts() {
        assertEquals(1000, RequestHandlerResult.OK.code());
        assertEquals(7, RequestHandlerResult.ofDataLong(7).response().getLong());
        assertEquals("x", RequestHandlerResult.of(5010, "x").reason());
        assertEquals(List.of(), RequestHandlerResult.OK.withNotifications(null).notifications());
        AppRequest hello = AppRequest.newBuilder().setCreateMessageRequest(CreateMessageRequest.newBuilder().setText("hello")).build();
        ClientRequest request = ClientRequest.builder().userId(5).deviceType(DeviceType.IOS).request(hello).build();
        ClientRequest changed = request.editRequest(r -> r.getCreateMessageRequestBuilder().setText("bye"));
        assertEquals("bye", changed.request().getCreateMessageRequest().getText());
        assertEquals("hello", request.request().getCreateMessageRequest().getText());
        assertThrows(NullPointerException.class, () -> request.withDeviceType(null));
    }
}
