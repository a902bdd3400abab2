// SPDX-License-Identifier: Apache-2.0

package im.app.plugin.json;

import java.lang.reflect.Array;
import java.lang.reflect.GenericArrayType;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.ParameterizedType;
import java.lang.reflect.RecordComponent;
import java.lang.reflect.Type;
import java.lang.reflect.WildcardType;
import java.math.BigDecimal;
import java.math.BigInteger;
import java.time.DateTimeException;
import java.time.Instant;
import java.time.OffsetDateTime;
import java.util.ArrayList;
import java.util.Base64;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/** Converts parsed JSON to values of Java types. Errors contain the path of the value. */
final class JsonConverter {

    private JsonConverter() {}

    static Object convert(Object value, Type type, String path) {
        if (type instanceof WildcardType wildcard) {
            return convert(value, wildcard.getUpperBounds()[0], path);
        }
        if (type instanceof ParameterizedType generic) {
            return generic(value, generic, path);
        }
        if (type instanceof GenericArrayType array) {
            return value == null ? null : array(value, array.getGenericComponentType(), path);
        }
        if (!(type instanceof Class<?> c)) {
            throw unsupported(path, type);
        }
        return simple(value, c, path);
    }

    private static Object generic(Object value, ParameterizedType type, String path) {
        Class<?> raw = raw(type);
        Type[] arguments = type.getActualTypeArguments();
        Type last = arguments[arguments.length - 1];
        if (raw == Optional.class) {
            return Optional.ofNullable(convert(value, last, path));
        }
        if (value == null) {
            return null;
        }
        if (raw.isAssignableFrom(ArrayList.class)) {
            return list(value, last, path);
        }
        if (raw.isAssignableFrom(LinkedHashSet.class)) {
            return new LinkedHashSet<>(list(value, last, path));
        }
        if (raw.isAssignableFrom(LinkedHashMap.class) && arguments.length == 2) {
            return map(value, arguments[0], last, path);
        }
        if (Iterable.class.isAssignableFrom(raw) || Map.class.isAssignableFrom(raw)) {
            throw unsupported(path, type);
        }
        return convert(value, raw, path);
    }

    /** Returns the class of the values of a type. */
    private static Class<?> raw(Type type) {
        return switch (type) {
            case Class<?> c -> c;
            case ParameterizedType generic -> (Class<?>) generic.getRawType();
            case GenericArrayType array -> raw(array.getGenericComponentType()).arrayType();
            case WildcardType wildcard -> raw(wildcard.getUpperBounds()[0]);
            default -> Object.class;
        };
    }

    private static Object array(Object value, Type item, String path) {
        List<?> items = list(value, item, path);
        Object out = Array.newInstance(raw(item), items.size());
        for (int i = 0; i < items.size(); i++) {
            Array.set(out, i, items.get(i));
        }
        return out;
    }

    private static JsonException unsupported(String path, Type type) {
        return new JsonException(at(path) + "cannot be a " + type.getTypeName());
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

    static Map<Object, Object> map(Object value, Type key, Type item, String path) {
        if (!(value instanceof Map<?, ?> map)) {
            throw wrong(path, "an object", value);
        }
        Map<Object, Object> out = new LinkedHashMap<>();
        map.forEach((k, v) -> {
            String at = member(path, String.valueOf(k));
            out.put(key(String.valueOf(k), raw(key), at), convert(v, item, at));
        });
        return out;
    }

    /** Converts the name of a member to a key of a map. */
    private static Object key(String name, Class<?> type, String path) {
        if (type.isInstance(name)) {
            return name;
        }
        if (!Number.class.isAssignableFrom(type)) {
            return simple(name, type, path);
        }
        try {
            return number(Long.valueOf(name), type, path);
        } catch (NumberFormatException e) {
            throw new JsonException("the name " + path + " must be a whole number");
        }
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
                return Array.get(Array.newInstance(type, 1), 0);
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
        if (type == char.class || type == Character.class) {
            if (value instanceof String text && text.length() == 1) {
                return text.charAt(0);
            }
            throw wrong(path, "a text of one character", value);
        }
        if (type == Instant.class) {
            return instant(value, path);
        }
        if (type == byte[].class) {
            return bytes(value, path);
        }
        if (type.isArray()) {
            return array(value, type.getComponentType(), path);
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
            if (type == BigDecimal.class) {
                return new BigDecimal(n.toString());
            }
            if (n instanceof Long || n instanceof Double d && d == Math.rint(d) && Math.abs(d) < 1L << 53) {
                long l = n.longValue();
                if (type == BigInteger.class) {
                    return BigInteger.valueOf(l);
                }
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
