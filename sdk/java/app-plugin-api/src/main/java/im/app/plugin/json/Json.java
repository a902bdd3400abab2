// SPDX-License-Identifier: Apache-2.0

package im.app.plugin.json;

import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * Reads and writes JSON. Objects are maps that preserve the order, arrays are lists, integers are
 * {@link Long} (or {@link java.math.BigInteger} if they are too large), other numbers
 * {@link Double}. Records are objects with their components as members, dates texts in ISO 8601,
 * bytes Base64, enums their names.
 */
public final class Json {

    private Json() {}

    /**
     * Reads a value.
     *
     * @param text JSON
     * @return a map, a list, a text, a number, a boolean or null
     * @throws JsonException if the text is not valid JSON
     */
    public static @Nullable Object parse(String text) {
        return new JsonReader(text).document();
    }

    /**
     * Reads an object.
     *
     * @param text JSON
     * @return the members of the object
     * @throws JsonException if the text is not valid JSON or not an object
     */
    @SuppressWarnings("unchecked")
    public static Map<String, @Nullable Object> object(String text) {
        if (parse(text) instanceof Map<?, ?> map) {
            return (Map<String, @Nullable Object>) map;
        }
        throw new JsonException("the JSON is not an object");
    }

    /**
     * Reads a value of a type.
     *
     * @param <T> the type
     * @param text JSON
     * @param type a record, a map, a list, a text, a number, a boolean
     * @return the value
     * @throws JsonException if the text is not valid JSON or not of the type
     */
    public static <T> @Nullable T read(String text, Class<T> type) {
        return convert(parse(text), type);
    }

    /**
     * Converts a parsed value to a type.
     *
     * @param <T> the type
     * @param value the result of {@link #parse}
     * @param type a record, a map, a list, a text, a number, a boolean
     * @return the value
     * @throws JsonException if the value is not of the type
     */
    @SuppressWarnings("unchecked")
    public static <T> @Nullable T convert(@Nullable Object value, Class<T> type) {
        return (T) JsonConverter.convert(value, type, "");
    }

    /**
     * Converts a parsed value to a list.
     *
     * @param <T> the type of the items
     * @param value the result of {@link #parse}
     * @param item the class of the items
     * @return the list; null if the value is null
     * @throws JsonException if the value is not such a list
     */
    @SuppressWarnings("unchecked")
    public static <T> @Nullable List<T> convertList(@Nullable Object value, Class<T> item) {
        return value == null ? null : (List<T>) JsonConverter.list(value, item, "");
    }

    /**
     * Converts a parsed value to a map.
     *
     * @param <T> the type of the values
     * @param value the result of {@link #parse}
     * @param item the class of the values
     * @return the map; null if the value is null
     * @throws JsonException if the value is not such an object
     */
    @SuppressWarnings("unchecked")
    public static <T> @Nullable Map<String, T> convertMap(@Nullable Object value, Class<T> item) {
        return value == null ? null : (Map<String, T>) (Map<?, ?>) JsonConverter.map(value, String.class, item, "");
    }

    /**
     * Writes a value. Omits members and components that are null.
     *
     * @param value the value
     * @return JSON
     * @throws JsonException if the value contains something that JSON cannot represent
     */
    public static String write(@Nullable Object value) {
        StringBuilder out = new StringBuilder();
        JsonWriter.write(out, value);
        return out.toString();
    }

    /**
     * Returns the JSON Schema of the values of a type as written by {@link #write}.
     *
     * @param type a record whose components may be annotated with {@link JsonSchema}, an enum, a
     *     text, a number, a boolean, a date
     * @return the schema, which the caller may change
     * @throws JsonException if a type has no schema, or a record contains itself
     */
    public static Map<String, @Nullable Object> schema(Class<?> type) {
        return new JsonSchemas().of(type);
    }
}
