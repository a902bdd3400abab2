// SPDX-License-Identifier: Apache-2.0

package org.example.login;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.sun.net.httpserver.HttpServer;
import im.app.gateway.infra.plugin.extension.UserAuthenticator;
import im.app.plugin.AppException;
import im.app.plugin.StatusCode;
import im.app.plugin.json.Json;
import im.app.plugin.model.UserLoginInfo;
import im.app.plugin.test.PluginRunner;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.util.Map;
import org.junit.jupiter.api.Test;

class LoginTest {

    @Test
    void asksTheService() throws Exception {
        HttpServer service = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
        service.createContext("/", exchange -> {
            Map<String, Object> info = Json.object(new String(exchange.getRequestBody().readAllBytes(), StandardCharsets.UTF_8));
            // Each password is the status that the service answers with.
            exchange.sendResponseHeaders("5".equals(info.get("userId")) ? Integer.parseInt((String) info.get("password")) : 400, -1);
            exchange.close();
        });
        service.start();
        try (PluginRunner plugin = PluginRunner.of(LoginPlugin.class).node("n", "GATEWAY", "1")
                .property("login.url", "http://localhost:" + service.getAddress().getPort() + "/").start()) {
            UserAuthenticator authenticator = plugin.point(UserAuthenticator.class);
            UserLoginInfo.Builder info = UserLoginInfo.builder().userId(5);
            assertTrue(authenticator.authenticate(info.password("200").build()));
            assertFalse(authenticator.authenticate(info.password("403").build()));
            assertNull(authenticator.authenticate(info.password("404").build()));
            assertEquals(StatusCode.SERVER_UNAVAILABLE, assertThrows(AppException.class, () -> authenticator.authenticate(info.password("500").build())).code());
        } finally {
            service.stop(0);
        }
    }

    @Test
    void needsTheAddress() {
        RuntimeException e = assertThrows(RuntimeException.class, () -> PluginRunner.of(LoginPlugin.class).start());
        assertTrue(e.getMessage().contains("login.url is missing"), e.getMessage());
    }
}
