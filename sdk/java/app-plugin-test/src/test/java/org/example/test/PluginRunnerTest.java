// SPDX-License-Identifier: Apache-2.0

package org.example.test;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import im.app.plugin.AppException;
import im.app.plugin.AppExtension;
import im.app.plugin.AppPlugin;
import im.app.plugin.StatusCode;
import im.app.plugin.model.AdminAction;
import im.app.plugin.model.ClientRequest;
import im.app.plugin.model.Notification;
import im.app.plugin.spi.LogLevel;
import im.app.plugin.test.ApiCall;
import im.app.plugin.test.PluginFailure;
import im.app.plugin.test.PluginRunner;
import im.app.plugin.test.ScheduleInfo;
import im.app.proto.AppRequest;
import im.app.proto.CreateMessageRequest;
import im.app.proto.DeviceType;
import im.app.server.common.infra.plugin.extension.AdminActionHandler;
import im.app.service.infra.plugin.extension.ClientRequestHandler;
import im.app.service.infra.plugin.extension.StorageServiceProvider;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.zip.ZipEntry;
import java.util.zip.ZipOutputStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

class PluginRunnerTest {

    private static ClientRequest message(String text) {
        return new ClientRequest(7, DeviceType.DESKTOP, "::1", 1,
                AppRequest.newBuilder().setCreateMessageRequest(CreateMessageRequest.newBuilder().setText(text)).build());
    }

    private static PluginRunner.Builder sample() {
        return PluginRunner.of(SamplePlugin.class).property("sample.words[0]", "darn").property("sample.words[1]", "heck").property("sample.max-length", "7");
    }

    @Test
    void startsWithProperties() throws Exception {
        try (PluginRunner plugin = sample().node("n", "GATEWAY", "2").start()) {
            assertEquals(List.of(SamplePlugin.Sample.class.getName()), plugin.extensions());
            assertEquals("sample started on GATEWAY at [darn, heck]", plugin.logs().getFirst().message());
            plugin.pause();
            plugin.resume();
            assertEquals(LogLevel.WARN, plugin.logs().get(1).level());
        }
    }

    @Test
    void changesSettings() throws Exception {
        try (PluginRunner plugin = sample().settings(Map.of("mode", "mask")).start()) {
            plugin.changeSettings(Map.of("mode", "refuse"));
            assertEquals("settings {mode=refuse}", plugin.logs().getLast().message());
        }
    }

    @Test
    void runsSchedules() throws Exception {
        try (PluginRunner plugin = sample().start()) {
            assertEquals(List.of(new ScheduleInfo("org.example.test.SamplePlugin$Sample", "report", "@hourly", true)), plugin.schedules());
            plugin.runSchedule("report", Instant.EPOCH);
            assertEquals("report of 1970-01-01T00:00:00Z", plugin.logs().getLast().message());
            assertThrows(IllegalArgumentException.class, () -> plugin.runSchedule("300000ms", Instant.EPOCH));
        }
    }

    @Test
    void aStartThatFailsIsAFailure() {
        PluginFailure e = assertThrows(PluginFailure.class, () -> sample().property("sample.max-length", -1).start());
        assertTrue(e.getMessage().contains("sample.max-length must not be negative"), e.getMessage());
        assertTrue(e.location().startsWith("SamplePlugin.java:"), e.location());
    }

    @Test
    void callsPoints() throws Exception {
        try (PluginRunner plugin = sample().start()) {
            ClientRequestHandler handler = plugin.point(ClientRequestHandler.class);
            assertNull(handler.transform(message("hello")));
            assertEquals(7, handler.handle(message("hello")).response().getLong());
            assertEquals(7, handler.handleAsync(message("hello")).toCompletableFuture().get().response().getLong());
            AppException refused = assertThrows(AppException.class, () -> handler.transform(message("refuse")));
            assertEquals(StatusCode.MESSAGE_IS_ILLEGAL, refused.code());
            assertEquals("no", refused.reason());
            PluginFailure failed = assertThrows(PluginFailure.class, () -> handler.transform(message("fail")));
            assertTrue(failed.getMessage().startsWith("java.lang.IllegalStateException: broken (SamplePlugin.java:"), failed.getMessage());
            plugin.point(AdminActionHandler.class).handleAdminAction(new AdminAction(1L, "", Instant.EPOCH, "createUser", Map.of(), 0, 1000));
            assertEquals("createUser", plugin.logs().getLast().message());
            assertThrows(IllegalArgumentException.class, () -> plugin.point(StorageServiceProvider.class));
        }
    }

    @Test
    void answersFromMemory() throws Exception {
        try (PluginRunner plugin = sample().answer("queryUsers", input -> List.of(Map.of("id", 7, "name", "Ann"))).start()) {
            ClientRequestHandler handler = plugin.point(ClientRequestHandler.class);
            assertEquals("Ann", handler.transform(message("name")).request().getCreateMessageRequest().getText());
            assertEquals(List.of(new ApiCall("queryUsers", Map.of("ids", List.of(7L)))), plugin.apiCalls());
            handler.transform(message("tell"));
            assertEquals(List.of(Notification.of(List.of(5L), AppRequest.getDefaultInstance())), plugin.notifications());
            handler.transform(message("ended"));
            assertEquals(Map.of(7L, Instant.ofEpochMilli(1234)), plugin.endedMeetings());
            handler.transform(message("count"));
            handler.transform(message("count"));
            assertEquals("2", new String(plugin.storage().get("count"), StandardCharsets.UTF_8));
        }
    }

    @Test
    void hasAFolder() throws Exception {
        Path folder;
        try (PluginRunner plugin = sample().start()) {
            plugin.point(ClientRequestHandler.class).transform(message("file"));
            folder = plugin.dataFolder();
            assertEquals("kept", Files.readString(folder.resolve("file.txt")));
        }
        assertTrue(Files.notExists(folder));
    }

    @Test
    void refusesOperationsThatTheTestDoesNotKnow() throws Exception {
        try (PluginRunner plugin = sample().start()) {
            AppException e = assertThrows(AppException.class, () -> plugin.point(ClientRequestHandler.class).transform(message("name")));
            assertTrue(e.reason().contains("answer(\"queryUsers\", ...)"), e.reason());
        }
    }

    @Test
    @Timeout(value = 2, unit = TimeUnit.MINUTES)
    void callsHaveATimeLimit() throws Exception {
        try (PluginRunner plugin = sample().timeout(Duration.ofMillis(200)).load()) {
            PluginFailure e = assertThrows(PluginFailure.class, () -> plugin.point(ClientRequestHandler.class).transform(message("wait")));
            assertEquals("the plugin did not answer within 200 ms", e.getMessage());
            while (plugin.logs().isEmpty()) {
                Thread.sleep(10); // Its thread is interrupted.
            }
            assertEquals("interrupted", plugin.logs().getFirst().message());
        }
    }

    @Test
    void threadsThatAreLeftAreAFailure() throws Exception {
        PluginRunner plugin = sample().property("sample.leave-thread", true).start();
        PluginFailure e = assertThrows(PluginFailure.class, plugin::close);
        assertTrue(e.getMessage().contains("left behind"), e.getMessage());
        for (Thread thread : Thread.getAllStackTraces().keySet()) {
            if (thread.getName().equals("left behind")) {
                thread.interrupt();
                thread.join();
            }
        }
    }

    /** A plugin without extensions. */
    public static class BadPlugin extends AppPlugin {
        @Override
        public Set<Class<? extends AppExtension>> getExtensions() {
            return Set.of();
        }
    }

    @Test
    void aPluginThatCannotBeLoadedIsAFailure() {
        PluginFailure e = assertThrows(PluginFailure.class, () -> PluginRunner.of(BadPlugin.class).load());
        assertTrue(e.getMessage().contains("returned no class"), e.getMessage());
    }

    @Test
    void runsJars(@TempDir Path dir) throws Exception {
        Path jar = dir.resolve("sample.jar");
        try (ZipOutputStream out = new ZipOutputStream(Files.newOutputStream(jar))) {
            for (String name : List.of("plugin.yaml", "org/example/test/SamplePlugin.class", "org/example/test/SamplePlugin$Sample.class", "org/example/test/SamplePlugin$Settings.class")) {
                out.putNextEntry(new ZipEntry(name));
                try (var in = getClass().getClassLoader().getResourceAsStream(name)) {
                    in.transferTo(out);
                }
                out.closeEntry();
            }
        }
        try (PluginRunner plugin = PluginRunner.of(jar).start()) {
            assertEquals(7, plugin.point(ClientRequestHandler.class).handle(message("x")).response().getLong());
        }
        Path other = dir.resolve("other.jar");
        try (ZipOutputStream out = new ZipOutputStream(Files.newOutputStream(other))) {
            out.putNextEntry(new ZipEntry("x"));
            out.closeEntry();
        }
        assertThrows(IllegalArgumentException.class, () -> PluginRunner.of(other));
    }
}
