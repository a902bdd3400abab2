// SPDX-License-Identifier: Apache-2.0

package im.app.plugin.json;

import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * Reads and writes JSON. Objects are maps that keep their order, arrays are lists, integers are
 * {@link Long} (or {@link java.math.BigInteger} if they are too big), other numbers {@link Double}.
 * Records are objects with their components as members, dates texts in ISO 8601, bytes Base64,
 * enums their names.
 */
public final class Json {

    private Json() {}

    /**
     * Reads a value.
     *
     * @param text JSON
     * @return a map, a list, a text, a number, a boolean or null
     * @throws JsonException if it is not JSON
     */
    public static @Nullable Object parse(String text) {
        return new JsonReader(text).document();
    }

    /**
     * Reads an object.
     *
     * @param text JSON
     * @return what is in the object
     * @throws JsonException if it is not JSON, or not an object
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
     * @throws JsonException if it is not JSON, or not of that type
     */
    public static <T> @Nullable T read(String text, Class<T> type) {
        return convert(parse(text), type);
    }

    /**
     * Makes a value of a type of what was read.
     *
     * @param <T> the type
     * @param value what {@link #parse} returned
     * @param type a record, a map, a list, a text, a number, a boolean
     * @return the value
     * @throws JsonException if it is not of that type
     */
    @SuppressWarnings("unchecked")
    public static <T> @Nullable T convert(@Nullable Object value, Class<T> type) {
        return (T) JsonConverter.convert(value, type, "");
    }

    /**
     * Makes a list of a type of what was read.
     *
     * @param <T> the type of the items
     * @param value what {@link #parse} returned
     * @param item the class of the items
     * @return the list, null for null
     * @throws JsonException if it is not such a list
     */
    @SuppressWarnings("unchecked")
    public static <T> @Nullable List<T> convertList(@Nullable Object value, Class<T> item) {
        return value == null ? null : (List<T>) JsonConverter.list(value, item, "");
    }

    /**
     * Makes a map with values of a type of what was read.
     *
     * @param <T> the type of the values
     * @param value what {@link #parse} returned
     * @param item the class of the values
     * @return the map, null for null
     * @throws JsonException if it is not such an object
     */
    @SuppressWarnings("unchecked")
    public static <T> @Nullable Map<String, T> convertMap(@Nullable Object value, Class<T> item) {
        return value == null ? null : (Map<String, T>) JsonConverter.map(value, item, "");
    }

    /**
     * Writes a value. Members and components that are null are left out.
     *
     * @param value the value
     * @return JSON
     * @throws JsonException if it holds something that JSON cannot
     */
    public static String write(@Nullable Object value) {
        StringBuilder out = new StringBuilder();
        JsonWriter.write(out, value);
        return out.toString();
    }

    /**
     * Makes the JSON Schema of a type, as {@link #write} writes its values.
     *
     * @param type a record whose components may be marked with {@link JsonSchema}, an enum, a text,
     * a number, a boolean, a date
     * @return the schema, which the caller may change
     * @throws JsonException if a type has no schema, or a record contains itself
     */
    public static Map<String, @Nullable Object> schema(Class<?> type) {
        return new JsonSchemas().of(type);
    }
}
