// SPDX-License-Identifier: Apache-2.0

package im.app.plugin.spi;

import im.app.plugin.api.Page;
import im.app.plugin.json.Json;
import im.app.plugin.json.JsonObject;
import java.util.Collection;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** Supports the generated methods for the operations of the admin API. Plugins do not use it. */
public final class Operations {

    private Operations() {}

    /**
     * Converts a response to a page.
     *
     * @param <T> the type of the records
     * @param answer the decoded JSON of the response; may be null
     * @param record the class of the records
     * @return the page; null if the response is null
     * @throws im.app.plugin.json.JsonException if the response is not a page of such records
     */
    public static <T> @Nullable Page<T> page(@Nullable Object answer, Class<T> record) {
        Map<?, ?> page = Json.convert(answer, Map.class);
        if (page == null) {
            return null;
        }
        Long total = Json.convert(page.get("total"), Long.class);
        return new Page<>(Json.convertList(page.get("records"), record), total == null ? 0 : total,
                Json.convert(page.get("totalIsExact"), Boolean.class));
    }

    /**
     * Rejects an input that selects no records, which the server could interpret as all records.
     *
     * @param input the input of an operation
     * @param all the name of the method that applies the operation to all records; null if there is
     * none
     * @param selectors the names of the parameters that select records
     * @throws IllegalArgumentException if all of them are missing or empty
     */
    public static void requireSelection(JsonObject input, @Nullable String all, String... selectors) {
        Map<String, @Nullable Object> values = input.toJson();
        for (String selector : selectors) {
            if (!isEmpty(values.get(selector))) {
                return;
            }
        }
        throw new IllegalArgumentException("the %s selects nothing: %s must not be empty%s".formatted(input.getClass().getSimpleName(),
                String.join(" or ", selectors), all == null ? "" : "; for all of them call " + all + "()"));
    }

    private static boolean isEmpty(@Nullable Object value) {
        return value == null || value instanceof Collection<?> list && list.isEmpty() || value instanceof Object[] array && array.length == 0;
    }
}
