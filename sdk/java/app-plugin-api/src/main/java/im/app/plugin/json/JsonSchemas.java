// SPDX-License-Identifier: Apache-2.0

package im.app.plugin.json;

import java.lang.reflect.GenericArrayType;
import java.lang.reflect.ParameterizedType;
import java.lang.reflect.RecordComponent;
import java.lang.reflect.Type;
import java.lang.reflect.WildcardType;
import java.math.BigInteger;
import java.time.Instant;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Deque;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;

/** Creates JSON Schemas of Java types. */
final class JsonSchemas {
    /** The records that enclose the type. */
    private final Deque<Class<?>> around = new ArrayDeque<>();

    Map<String, Object> of(Type type) {
        return switch (type) {
            case WildcardType wildcard -> of(wildcard.getUpperBounds()[0]);
            case GenericArrayType array -> list(array.getGenericComponentType());
            case ParameterizedType generic -> generic(generic);
            case Class<?> c -> plain(c);
            default -> throw new JsonException("there is no JSON Schema of " + type.getTypeName());
        };
    }

    private Map<String, Object> generic(ParameterizedType type) {
        Class<?> raw = (Class<?>) type.getRawType();
        Type last = type.getActualTypeArguments()[type.getActualTypeArguments().length - 1];
        if (Map.class.isAssignableFrom(raw)) {
            Map<String, Object> schema = typed("object");
            schema.put("additionalProperties", of(last));
            return schema;
        }
        if (Iterable.class.isAssignableFrom(raw)) {
            Map<String, Object> schema = list(last);
            if (Set.class.isAssignableFrom(raw)) {
                schema.put("uniqueItems", true);
            }
            return schema;
        }
        return raw == Optional.class ? of(last) : plain(raw);
    }

    private Map<String, Object> list(Type item) {
        Map<String, Object> schema = typed("array");
        schema.put("items", of(item));
        return schema;
    }

    private static Map<String, Object> typed(String type) {
        Map<String, Object> schema = new LinkedHashMap<>();
        schema.put("type", type);
        return schema;
    }

    private static Map<String, Object> typed(String type, String format) {
        Map<String, Object> schema = typed(type);
        schema.put("format", format);
        return schema;
    }

    private Map<String, Object> plain(Class<?> c) {
        if (c.isRecord()) {
            return record(c);
        }
        if (c.isEnum()) {
            Map<String, Object> schema = typed("string");
            List<String> names = new ArrayList<>();
            for (Object constant : c.getEnumConstants()) {
                names.add(((Enum<?>) constant).name());
            }
            schema.put("enum", names);
            return schema;
        }
        if (c == String.class || c == CharSequence.class || c == char.class || c == Character.class) {
            return typed("string");
        }
        if (c == boolean.class || c == Boolean.class) {
            return typed("boolean");
        }
        if (c == Instant.class) {
            return typed("string", "date-time");
        }
        if (c == byte[].class) {
            return typed("string", "byte");
        }
        if (c.isArray()) {
            return list(c.getComponentType());
        }
        if (c == Object.class || JsonObject.class.isAssignableFrom(c)) {
            return new LinkedHashMap<>();
        }
        if (Map.class.isAssignableFrom(c)) {
            return typed("object");
        }
        if (Collection.class.isAssignableFrom(c)) {
            return typed("array");
        }
        return number(c);
    }

    private static Map<String, Object> number(Class<?> c) {
        if (c == int.class || c == Integer.class || c == short.class || c == Short.class || c == byte.class || c == Byte.class) {
            return typed("integer", "int32");
        }
        if (c == long.class || c == Long.class) {
            return typed("integer", "int64");
        }
        if (c == BigInteger.class) {
            return typed("integer");
        }
        if (c == float.class || c == double.class || Number.class.isAssignableFrom(c)) {
            return typed("number");
        }
        throw new JsonException("there is no JSON Schema of " + c.getName() + ": use a record, an enum, a text, a number, a boolean, an Instant, "
                + "bytes, or a list or a map of them");
    }

    private Map<String, Object> record(Class<?> c) {
        if (around.contains(c)) {
            throw new JsonException("there is no JSON Schema of the record " + c.getName() + ", because it contains itself");
        }
        around.push(c);
        Map<String, Object> properties = new LinkedHashMap<>();
        List<String> required = new ArrayList<>();
        for (RecordComponent component : c.getRecordComponents()) {
            String name = JsonConverter.name(component);
            JsonSchema more = component.getAnnotation(JsonSchema.class);
            Map<String, Object> schema = of(component.getGenericType());
            if (more != null) {
                add(more, schema, c.getName() + "." + component.getName());
            }
            properties.put(name, schema);
            if (component.getType() != Optional.class && (more == null || !more.optional() && more.defaultValue().isEmpty())) {
                required.add(name);
            }
        }
        around.pop();
        Map<String, Object> schema = typed("object");
        schema.put("properties", properties);
        if (!required.isEmpty()) {
            schema.put("required", required);
        }
        return schema;
    }

    private static void add(JsonSchema more, Map<String, Object> schema, String where) {
        if (!more.description().isEmpty()) {
            schema.put("description", more.description());
        }
        if (!more.defaultValue().isEmpty()) {
            try {
                schema.put("default", Json.parse(more.defaultValue()));
            } catch (JsonException e) {
                throw new JsonException("the default of " + where + " is not JSON: " + more.defaultValue() + " (a text stands in quotes)");
            }
        }
        if (more.minimum() != Double.NEGATIVE_INFINITY) {
            schema.put("minimum", whole(more.minimum()));
        }
        if (more.maximum() != Double.POSITIVE_INFINITY) {
            schema.put("maximum", whole(more.maximum()));
        }
        boolean list = "array".equals(schema.get("type"));
        if (more.minLength() > 0) {
            schema.put(list ? "minItems" : "minLength", more.minLength());
        }
        if (more.maxLength() < Integer.MAX_VALUE) {
            schema.put(list ? "maxItems" : "maxLength", more.maxLength());
        }
        if (!more.pattern().isEmpty()) {
            schema.put("pattern", more.pattern());
        }
        if (!more.format().isEmpty()) {
            schema.put("format", more.format());
        }
    }

    /** Returns an integral number as a Long, so that it is written without a fraction. */
    private static Number whole(double d) {
        if (d == Math.rint(d) && Math.abs(d) < 1L << 53) {
            return (long) d;
        }
        return d;
    }
}
