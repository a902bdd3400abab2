// SPDX-License-Identifier: Apache-2.0

package im.app.plugin.json;

import java.lang.reflect.Array;
import java.time.Instant;
import java.time.format.DateTimeFormatter;
import java.util.Base64;
import java.util.Map;
import java.util.Optional;

/** Writes values as JSON. */
final class JsonWriter {

    private JsonWriter() {}

    static void write(StringBuilder out, Object value) {
        switch (value) {
            case null -> out.append("null");
            case CharSequence text -> string(out, text);
            case Character c -> string(out, c.toString());
            case Boolean b -> out.append(b.booleanValue());
            case Double d -> number(out, d, d.isNaN() || d.isInfinite());
            case Float f -> number(out, f, f.isNaN() || f.isInfinite());
            case Number n -> out.append(n);
            case Enum<?> e -> string(out, e.name());
            case Instant i -> string(out, DateTimeFormatter.ISO_INSTANT.format(i));
            case Optional<?> o -> write(out, o.orElse(null));
            case byte[] bytes -> string(out, Base64.getEncoder().encodeToString(bytes));
            case JsonObject o -> object(out, o.toJson());
            case Map<?, ?> map -> object(out, map);
            case Record r -> object(out, JsonConverter.members(r));
            case Iterable<?> list -> list(out, list);
            default -> {
                if (!value.getClass().isArray()) {
                    throw new JsonException("JSON has no counterpart of " + value.getClass().getName());
                }
                array(out, value);
            }
        }
    }

    private static void number(StringBuilder out, Number n, boolean bad) {
        if (bad) {
            throw new JsonException("JSON has no counterpart of the number " + n);
        }
        out.append(n);
    }

    private static void object(StringBuilder out, Map<?, ?> map) {
        out.append('{');
        boolean first = true;
        for (Map.Entry<?, ?> entry : map.entrySet()) {
            if (entry.getValue() == null) {
                continue;
            }
            if (!first) {
                out.append(',');
            }
            first = false;
            string(out, String.valueOf(entry.getKey()));
            out.append(':');
            write(out, entry.getValue());
        }
        out.append('}');
    }

    private static void list(StringBuilder out, Iterable<?> list) {
        out.append('[');
        boolean first = true;
        for (Object item : list) {
            if (!first) {
                out.append(',');
            }
            first = false;
            write(out, item);
        }
        out.append(']');
    }

    private static void array(StringBuilder out, Object array) {
        out.append('[');
        for (int i = 0; i < Array.getLength(array); i++) {
            if (i > 0) {
                out.append(',');
            }
            write(out, Array.get(array, i));
        }
        out.append(']');
    }

    private static void string(StringBuilder out, CharSequence text) {
        out.append('"');
        for (int i = 0; i < text.length(); i++) {
            char c = text.charAt(i);
            switch (c) {
                case '"' -> out.append("\\\"");
                case '\\' -> out.append("\\\\");
                case '\n' -> out.append("\\n");
                case '\r' -> out.append("\\r");
                case '\t' -> out.append("\\t");
                default -> {
                    if (c < ' ') {
                        out.append(String.format("\\u%04x", (int) c));
                    } else {
                        out.append(c);
                    }
                }
            }
        }
        out.append('"');
    }
}
