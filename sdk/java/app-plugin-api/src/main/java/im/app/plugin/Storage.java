// SPDX-License-Identifier: Apache-2.0

package im.app.plugin;

import im.app.plugin.json.Json;
import java.nio.charset.StandardCharsets;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * A small durable key-value store of the plugin: 10,000 values of up to 64 KiB each, 16 MiB in
 * total, with keys of up to 256 bytes. Values are kept when the plugin is removed.
 */
public interface Storage {

    /**
     * Returns a value.
     *
     * @param key its key
     * @return the value; null if the key does not exist
     */
    byte @Nullable [] get(String key);

    /**
     * Stores a value. It is durable when the method returns.
     *
     * @param key its key
     * @param value the value
     */
    void set(String key, byte[] value);

    /**
     * Deletes a value.
     *
     * @param key its key
     * @return whether the key existed
     */
    boolean delete(String key);

    /**
     * Returns the keys that begin with a prefix, sorted by their bytes.
     *
     * @param prefix the prefix; all keys have the empty prefix
     * @return the keys
     */
    List<String> keys(String prefix);

    /**
     * Returns a text.
     *
     * @param key its key
     * @return the text; null if the key does not exist
     */
    default @Nullable String getText(String key) {
        byte[] value = get(key);
        return value == null ? null : new String(value, StandardCharsets.UTF_8);
    }

    /**
     * Stores a text.
     *
     * @param key its key
     * @param text the text
     */
    default void setText(String key, String text) {
        set(key, text.getBytes(StandardCharsets.UTF_8));
    }

    /**
     * Returns a value that was stored as JSON.
     *
     * @param <T> the type of the value
     * @param key its key
     * @param type the class of the value: a record, a map, a list, a text, a number
     * @return the value; null if the key does not exist
     */
    default <T> @Nullable T get(String key, Class<T> type) {
        String text = getText(key);
        return text == null ? null : Json.read(text, type);
    }

    /**
     * Stores a value as JSON.
     *
     * @param key its key
     * @param value a record, a map, a list, a text, a number
     */
    default void setJson(String key, @Nullable Object value) {
        setText(key, Json.write(value));
    }
}
