// SPDX-License-Identifier: Apache-2.0

package org.example.login;

import im.app.gateway.infra.plugin.extension.UserAuthenticator;
import im.app.plugin.AppException;
import im.app.plugin.AppExtension;
import im.app.plugin.PropertiesPrefix;
import im.app.plugin.StatusCode;
import im.app.plugin.json.Json;
import im.app.plugin.model.UserLoginInfo;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.Map;

/**
 * Asks an HTTP service whether a user may log in.
 *
 * <pre>
 * login.url=https://accounts.example.org/check
 * </pre>
 *
 * <p>The service gets a POST with {userId, password, deviceType, ip} and answers with 200 to let
 * the user in, 401 or 403 to refuse, and 404 if it does not know the user: the server then checks
 * its own users.
 */
public class Login extends AppExtension implements UserAuthenticator {

    /** The properties. */
    @PropertiesPrefix("login")
    public record Properties(URI url) {}

    private volatile HttpClient client;
    private volatile URI url;

    @Override
    public void start() {
        url = loadProperties(Properties.class).url();
        if (url == null) {
            throw new IllegalArgumentException("login.url is missing");
        }
        client = HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).build();
    }

    @Override
    public void stop() throws InterruptedException {
        if (client != null) {
            client.shutdownNow(); // Its threads would keep the classes of the plugin in memory.
            client.awaitTermination(Duration.ofSeconds(10));
        }
    }

    @Override
    public Boolean authenticate(UserLoginInfo userLoginInfo) throws InterruptedException {
        Map<String, Object> body = new LinkedHashMap<>();
        body.put("userId", String.valueOf(userLoginInfo.userId()));
        body.put("password", userLoginInfo.password());
        body.put("deviceType", userLoginInfo.loggingInDeviceType());
        body.put("ip", userLoginInfo.ip());
        HttpRequest request = HttpRequest.newBuilder(url).timeout(Duration.ofSeconds(3)).header("Content-Type", "application/json")
                .POST(HttpRequest.BodyPublishers.ofString(Json.write(body))).build();
        int status = 0;
        try {
            status = client.send(request, HttpResponse.BodyHandlers.discarding()).statusCode(); // Blocking is fine: each call has a thread.
        } catch (IOException e) {
            logger().error("the login service cannot be asked", e);
        }
        return switch (status) {
            case 200 -> true;
            case 401, 403 -> false;
            case 404 -> null; // The server decides.
            // Refuse logins while the service is down, with a code that tells clients to retry.
            default -> throw new AppException(StatusCode.SERVER_UNAVAILABLE, "logins cannot be checked at present");
        };
    }
}
