// SPDX-License-Identifier: Apache-2.0

package org.example.s3;

import im.app.plugin.json.Json;
import java.io.IOException;
import java.net.URI;
import java.net.URLEncoder;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.security.GeneralSecurityException;
import java.security.MessageDigest;
import java.time.Duration;
import java.time.Instant;
import java.time.ZoneOffset;
import java.time.format.DateTimeFormatter;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Base64;
import java.util.HexFormat;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import javax.crypto.Mac;
import javax.crypto.spec.SecretKeySpec;

/** Signs requests for one bucket with AWS Signature Version 4. */
final class Bucket implements AutoCloseable {
    private static final Duration VALID = Duration.ofMinutes(5);
    private static final DateTimeFormatter TIME = DateTimeFormatter.ofPattern("yyyyMMdd'T'HHmmss'Z'").withZone(ZoneOffset.UTC);

    private final HttpClient client = HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).build();
    private final S3Storage.Properties properties;
    private final String name;
    private final URI url;

    Bucket(String name, S3Storage.Properties properties) {
        this.name = properties.bucketPrefix + name;
        this.properties = properties;
        url = URI.create(properties.endpoint.replaceAll("/$", "") + "/" + this.name);
    }

    @Override
    public void close() throws InterruptedException {
        client.shutdownNow(); // Its threads would keep the classes of the plugin in memory.
        client.awaitTermination(Duration.ofSeconds(10));
    }

    private String scope(String time) {
        return time.substring(0, 8) + "/" + properties.region + "/s3/aws4_request";
    }

    private static byte[] hmac(byte[] key, String text) {
        try {
            Mac mac = Mac.getInstance("HmacSHA256");
            mac.init(new SecretKeySpec(key, "HmacSHA256"));
            return mac.doFinal(text.getBytes(StandardCharsets.UTF_8));
        } catch (GeneralSecurityException e) {
            throw new IllegalStateException("every Java has HmacSHA256", e);
        }
    }

    private static String hash(String text) {
        try {
            return HexFormat.of().formatHex(MessageDigest.getInstance("SHA-256").digest(text.getBytes(StandardCharsets.UTF_8)));
        } catch (GeneralSecurityException e) {
            throw new IllegalStateException("every Java has SHA-256", e);
        }
    }

    private String sign(String scope, String text) {
        byte[] key = ("AWS4" + properties.secretKey).getBytes(StandardCharsets.UTF_8);
        for (String part : scope.split("/")) {
            key = hmac(key, part);
        }
        return HexFormat.of().formatHex(hmac(key, text));
    }

    /**
     * Returns what a client needs to upload one file: the fields of the form, including the id, and
     * the URL.
     */
    Map<String, String> uploadForm(String key, String mediaType) {
        Instant now = Instant.now();
        String time = TIME.format(now);
        Map<String, String> fields = new LinkedHashMap<>();
        fields.put("id", key);
        fields.put("key", key);
        fields.put("Content-Type", mediaType);
        fields.put("x-amz-algorithm", "AWS4-HMAC-SHA256");
        fields.put("x-amz-credential", properties.accessKey + "/" + scope(time));
        fields.put("x-amz-date", time);
        List<Object> conditions = new ArrayList<>();
        conditions.add(Map.of("bucket", name));
        fields.forEach((name, value) -> conditions.add(Map.of(name, value)));
        conditions.add(List.of("content-length-range", 1, properties.maxSize));
        String policy = Json.write(Map.of("expiration", now.plus(VALID), "conditions", conditions));
        String encoded = Base64.getEncoder().encodeToString(policy.getBytes(StandardCharsets.UTF_8));
        fields.put("url", url.toString());
        fields.put("policy", encoded);
        fields.put("x-amz-signature", sign(scope(time), encoded));
        return fields;
    }

    private static String encode(String text) {
        return URLEncoder.encode(text, StandardCharsets.UTF_8).replace("+", "%20").replace("*", "%2A").replace("%7E", "~");
    }

    /** Returns a signed URL for one request without a body. */
    String address(String method, String key) {
        String time = TIME.format(Instant.now());
        String path = url.getRawPath() + "/" + Arrays.stream(key.split("/")).map(Bucket::encode).collect(Collectors.joining("/"));
        String query = "X-Amz-Algorithm=AWS4-HMAC-SHA256&X-Amz-Credential=" + encode(properties.accessKey + "/" + scope(time)) + "&X-Amz-Date=" + time
                + "&X-Amz-Expires=" + VALID.toSeconds() + "&X-Amz-SignedHeaders=host";
        String request = String.join("\n", method, path, query, "host:" + url.getAuthority(), "", "host", "UNSIGNED-PAYLOAD");
        String text = String.join("\n", "AWS4-HMAC-SHA256", time, scope(time), hash(request));
        return url.getScheme() + "://" + url.getAuthority() + path + "?" + query + "&X-Amz-Signature=" + sign(scope(time), text);
    }

    void delete(String key) throws IOException, InterruptedException {
        HttpRequest request = HttpRequest.newBuilder(URI.create(address("DELETE", key))).timeout(Duration.ofSeconds(3)).DELETE().build();
        int status = client.send(request, HttpResponse.BodyHandlers.discarding()).statusCode();
        if (status < 200 || status > 299) {
            throw new IOException("the storage service answered " + status + " to the deletion of " + key);
        }
    }
}
