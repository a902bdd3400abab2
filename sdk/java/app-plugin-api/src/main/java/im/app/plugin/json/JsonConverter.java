// SPDX-License-Identifier: Apache-2.0

package im.app.plugin.json;

import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.ParameterizedType;
import java.lang.reflect.RecordComponent;
import java.lang.reflect.Type;
import java.lang.reflect.WildcardType;
import java.time.DateTimeException;
import java.time.Instant;
import java.time.OffsetDateTime;
import java.util.ArrayList;
import java.util.Base64;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;

/** Converts parsed JSON to values of Java types. Errors contain the path of the value. */
final class JsonConverter {

    private JsonConverter() {}

    static Object convert(Object value, Type type, String path) {
        if (type instanceof WildcardType wildcard) {
            return convert(value, wildcard.getUpperBounds()[0], path);
        }
        if (type instanceof ParameterizedType generic) {
            Class<?> raw = (Class<?>) generic.getRawType();
            Type last = generic.getActualTypeArguments()[generic.getActualTypeArguments().length - 1];
            if (raw == Optional.class) {
                return Optional.ofNullable(convert(value, last, path));
            }
            if (value == null) {
                return null;
            }
            if (Map.class.isAssignableFrom(raw)) {
                return map(value, last, path);
            }
            if (raw == Set.class) {
                return new LinkedHashSet<>(list(value, last, path));
            }
            if (raw == List.class || raw == Collection.class || raw == Iterable.class) {
                return list(value, last, path);
            }
            return convert(value, raw, path);
        }
        if (!(type instanceof Class<?> c)) {
            throw new JsonException(at(path) + "cannot be a " + type.getTypeName());
        }
        return simple(value, c, path);
    }

    static List<?> list(Object value, Type item, String path) {
        if (!(value instanceof List<?> list)) {
            throw wrong(path, "a list", value);
        }
        List<Object> out = new ArrayList<>(list.size());
        for (int i = 0; i < list.size(); i++) {
            out.add(convert(list.get(i), item, path + "[" + i + "]"));
        }
        return out;
    }

    static Map<String, Object> map(Object value, Type item, String path) {
        if (!(value instanceof Map<?, ?> map)) {
            throw wrong(path, "an object", value);
        }
        Map<String, Object> out = new LinkedHashMap<>();
        map.forEach((k, v) -> out.put(String.valueOf(k), convert(v, item, member(path, String.valueOf(k)))));
        return out;
    }

    private static String member(String path, String name) {
        return path.isEmpty() ? name : path + "." + name;
    }

    private static String at(String path) {
        return path.isEmpty() ? "the value " : "the value of " + path + " ";
    }

    private static JsonException wrong(String path, String what, Object value) {
        String shown = value == null ? "null" : Json.write(value);
        return new JsonException(at(path) + "must be " + what + ", not " + (shown.length() > 80 ? shown.substring(0, 80) + "…" : shown));
    }

    private static Object simple(Object value, Class<?> type, String path) {
        if (value == null) {
            if (type.isPrimitive()) {
                return type == boolean.class ? Boolean.FALSE : number(0L, type, path);
            }
            return null;
        }
        if (type.isRecord()) {
            return record(value, type, path);
        }
        if (type == String.class || type == CharSequence.class) {
            if (value instanceof String) {
                return value;
            }
            throw wrong(path, "a text", value);
        }
        if (type == boolean.class || type == Boolean.class) {
            if (value instanceof Boolean) {
                return value;
            }
            throw wrong(path, "true or false", value);
        }
        if (type == Instant.class) {
            return instant(value, path);
        }
        if (type == byte[].class) {
            return bytes(value, path);
        }
        if (type.isEnum()) {
            for (Object constant : type.getEnumConstants()) {
                if (((Enum<?>) constant).name().equals(value)) {
                    return constant;
                }
            }
            throw wrong(path, "a name of " + type.getSimpleName(), value);
        }
        if (type.isPrimitive() || Number.class.isAssignableFrom(type) && type != Number.class) {
            return number(value, type, path);
        }
        if (type.isInstance(value)) {
            return value;
        }
        throw wrong(path, "a " + type.getSimpleName(), value);
    }

    private static Object instant(Object value, String path) {
        try {
            if (value instanceof String text) {
                return OffsetDateTime.parse(text).toInstant();
            }
        } catch (DateTimeException e) {
            throw wrong(path, "a date in ISO 8601", value);
        }
        if (value instanceof Long millis) {
            return Instant.ofEpochMilli(millis);
        }
        throw wrong(path, "a date in ISO 8601", value);
    }

    private static byte[] bytes(Object value, String path) {
        try {
            if (value instanceof String text) {
                return Base64.getDecoder().decode(text);
            }
        } catch (IllegalArgumentException e) {
            throw wrong(path, "Base64", value);
        }
        throw wrong(path, "Base64", value);
    }

    private static Object number(Object value, Class<?> type, String path) {
        if (value instanceof Number n) {
            if (type == double.class || type == Double.class) {
                return n.doubleValue();
            }
            if (type == float.class || type == Float.class) {
                return n.floatValue();
            }
            if (n instanceof Long || n instanceof Double d && d == Math.rint(d) && Math.abs(d) < 1L << 53) {
                long l = n.longValue();
                if (type == long.class || type == Long.class) {
                    return l;
                }
                if ((type == int.class || type == Integer.class) && l == (int) l) {
                    return (int) l;
                }
                if ((type == short.class || type == Short.class) && l == (short) l) {
                    return (short) l;
                }
                if ((type == byte.class || type == Byte.class) && l == (byte) l) {
                    return (byte) l;
                }
            }
            if (type.isInstance(n)) {
                return n;
            }
        }
        throw wrong(path, "a number that fits " + type.getSimpleName(), value);
    }

    static String name(RecordComponent c) {
        JsonName name = c.getAnnotation(JsonName.class);
        return name == null ? c.getName() : name.value();
    }

    private static Object record(Object value, Class<?> type, String path) {
        if (!(value instanceof Map<?, ?> map)) {
            throw wrong(path, "an object", value);
        }
        RecordComponent[] components = type.getRecordComponents();
        Class<?>[] classes = new Class<?>[components.length];
        Object[] args = new Object[components.length];
        for (int i = 0; i < components.length; i++) {
            classes[i] = components[i].getType();
            args[i] = convert(map.get(name(components[i])), components[i].getGenericType(), member(path, name(components[i])));
        }
        try {
            var constructor = type.getDeclaredConstructor(classes);
            constructor.setAccessible(true);
            return constructor.newInstance(args);
        } catch (InvocationTargetException e) {
            throw new JsonException(at(path) + "is not a " + type.getSimpleName() + ": " + e.getCause().getMessage());
        } catch (ReflectiveOperationException e) {
            throw new JsonException(at(path) + "cannot be made a " + type.getName() + ": " + e);
        }
    }

    /** Returns the components of a record by their names in JSON. */
    static Map<String, Object> members(Record record) {
        Map<String, Object> out = new LinkedHashMap<>();
        for (RecordComponent c : record.getClass().getRecordComponents()) {
            try {
                var accessor = c.getAccessor();
                accessor.setAccessible(true);
                out.put(name(c), accessor.invoke(record));
            } catch (ReflectiveOperationException e) {
                throw new JsonException("the component " + c.getName() + " of " + record.getClass().getName() + " cannot be read: " + e);
            }
        }
        return out;
    }
}
