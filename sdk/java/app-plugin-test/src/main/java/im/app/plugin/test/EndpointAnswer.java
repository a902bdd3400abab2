// SPDX-License-Identifier: Apache-2.0

package im.app.plugin.test;

import im.app.plugin.json.Json;
import java.nio.charset.StandardCharsets;

/**
 * The response of an endpoint.
 *
 * @param json the data; null if there is none, or the endpoint declares a content type
 * @param content the bytes that the handler wrote; empty unless the endpoint declares a content
 *     type
 */
public record EndpointAnswer(String json, byte[] content) {

    /**
     * Converts the data.
     *
     * @param <T> the type
     * @param type the type of the result of the endpoint
     * @return the data; null if there is none
     */
    public <T> T data(Class<T> type) {
        return json == null ? null : Json.read(json, type);
    }

    /**
     * Returns the content as UTF-8 text.
     *
     * @return the text
     */
    public String text() {
        return new String(content, StandardCharsets.UTF_8);
    }
}
