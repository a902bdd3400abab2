// SPDX-License-Identifier: Apache-2.0

package text;

import java.lang.reflect.RecordComponent;
import java.time.Instant;
import java.util.Arrays;
import java.util.Collection;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.Collectors;

/** Shows values as text, in the way of every language. */
public final class Text {
    private Text() {}

    /** Shows values with | between them. */
    public static String of(Object... values) {
        return Arrays.stream(values).map(Text::show).collect(Collectors.joining("|"));
    }

    private static String show(Object value) {
        return switch (value) {
            case null -> "-";
            case Enum<?> e -> e.name();
            case Instant at -> String.valueOf(at.toEpochMilli());
            case Collection<?> list -> list.stream().map(Text::show).collect(Collectors.joining(",", "[", "]"));
            case Map<?, ?> map -> object(map);
            case Record record -> object(parts(record));
            default -> value.toString();
        };
    }

    private static String object(Map<?, ?> map) {
        return new TreeMap<>(map).entrySet().stream().filter(e -> !empty(e.getValue()))
                .map(e -> e.getKey() + "=" + show(e.getValue())).collect(Collectors.joining(",", "{", "}"));
    }

    private static boolean empty(Object value) {
        return switch (value) {
            case null -> true;
            case String s -> s.isEmpty();
            case Collection<?> list -> list.isEmpty();
            case Map<?, ?> map -> map.isEmpty();
            default -> false;
        };
    }

    private static Map<String, Object> parts(Record record) {
        Map<String, Object> parts = new TreeMap<>();
        for (RecordComponent c : record.getClass().getRecordComponents()) {
            try {
                parts.put(c.getName(), c.getAccessor().invoke(record));
            } catch (ReflectiveOperationException e) {
                throw new IllegalStateException(e);
            }
        }
        return parts;
    }
}
