// SPDX-License-Identifier: Apache-2.0

package org.example.test;

import im.app.plugin.AppException;
import im.app.plugin.AppExtension;
import im.app.plugin.AppPlugin;
import im.app.plugin.ExtensionState;
import im.app.plugin.PropertiesPrefix;
import im.app.plugin.ScheduleOptions;
import im.app.plugin.StatusCode;
import im.app.plugin.api.users.QueryUsers;
import im.app.plugin.model.AdminAction;
import im.app.plugin.model.ClientRequest;
import im.app.plugin.model.RequestHandlerResult;
import im.app.proto.AppRequest;
import im.app.server.common.infra.plugin.extension.AdminActionHandler;
import im.app.service.infra.plugin.extension.ClientRequestHandler;
import java.nio.file.Files;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;

/** A plugin that uses the whole server API. */
public class SamplePlugin extends AppPlugin {
    @Override
    public Set<Class<? extends AppExtension>> getExtensions() {
        return Set.of(Sample.class);
    }

    @PropertiesPrefix("sample")
    public record Settings(List<String> words, int maxLength, boolean leaveThread) {}

    /** The extension. */
    public static class Sample extends AppExtension implements ClientRequestHandler, AdminActionHandler {
        private Settings settings;
        private Thread thread;

        @Override
        public void start() {
            settings = loadProperties(Settings.class);
            if (settings.maxLength() < 0) {
                throw new IllegalArgumentException("sample.max-length must not be negative");
            }
            if (settings.leaveThread()) {
                thread = new Thread(() -> {
                    try {
                        Thread.sleep(Long.MAX_VALUE);
                    } catch (InterruptedException e) {
                        return;
                    }
                }, "left behind");
                thread.setDaemon(true);
                thread.start();
            }
            schedule("@hourly", ScheduleOptions.onLeader().named("report"), slot -> logger().info("report of {}", slot));
            schedule(Duration.ofMinutes(5), ScheduleOptions.DEFAULT, slot -> {}).cancel();
            logger().info("{} started on {} at {}", descriptor().id(), node().role(), settings.words());
        }

        @Override
        public void onSettingsChanged(Map<String, Object> settings) {
            logger().info("settings {}", settings.equals(settings()) ? settings : "differ");
        }

        @Override
        public void pause() {
            logger().warn("paused, {}", state() == ExtensionState.STARTED);
        }

        @Override
        public ClientRequest transform(ClientRequest clientRequest) throws Exception {
            String text = clientRequest.request().getCreateMessageRequest().getText();
            switch (text) {
                case "refuse":
                    throw new AppException(StatusCode.MESSAGE_IS_ILLEGAL, "no");
                case "fail":
                    throw new IllegalStateException("broken");
                case "wait":
                    try {
                        Thread.sleep(Long.MAX_VALUE);
                    } catch (InterruptedException e) {
                        logger().info("interrupted");
                    }
                    return null;
                case "name":
                    String name = api().users().query(new QueryUsers().ids(clientRequest.userId())).getFirst().name();
                    return clientRequest.editRequest(r -> r.getCreateMessageRequestBuilder().setText(name));
                case "tell":
                    notify(List.of(5L), AppRequest.getDefaultInstance());
                    return null;
                case "ended":
                    meetingEnded(7, Instant.ofEpochMilli(1234));
                    return null;
                case "file":
                    Files.writeString(dataFolder().resolve("file.txt"), "kept");
                    return null;
                case "count":
                    Long count = storage().get("count", Long.class);
                    storage().setJson("count", count == null ? 1 : count + 1);
                    return null;
                default:
                    return null;
            }
        }

        @Override
        public CompletionStage<RequestHandlerResult> handleAsync(ClientRequest clientRequest) {
            return CompletableFuture.supplyAsync(() -> RequestHandlerResult.ofDataLong(clientRequest.userId()));
        }

        @Override
        public void handleAdminAction(AdminAction adminAction) {
            logger().debug("{}", adminAction.action());
        }
    }
}
