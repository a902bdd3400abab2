// SPDX-License-Identifier: Apache-2.0

package im.app.plugin.test;

import im.app.plugin.json.Json;
import java.nio.charset.StandardCharsets;

/**
 * What an endpoint answered.
 *
 * @param json the data; null if there is none, or the endpoint declares a content type
 * @param content what the handler wrote, if the endpoint declares a content type
 */
public record EndpointAnswer(String json, byte[] content) {

    /**
     * Reads the data.
     *
     * @param <T> the type
     * @param type the type of the result of the endpoint
     * @return the data; null if there is none
     */
    public <T> T data(Class<T> type) {
        return json == null ? null : Json.read(json, type);
    }

    /**
     * The content as a text in UTF-8.
     *
     * @return the text
     */
    public String text() {
        return new String(content, StandardCharsets.UTF_8);
    }
}
