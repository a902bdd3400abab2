// SPDX-License-Identifier: Apache-2.0

package im.app.plugin.host.config;

import java.lang.reflect.Array;
import java.lang.reflect.GenericArrayType;
import java.lang.reflect.ParameterizedType;
import java.lang.reflect.Type;
import java.lang.reflect.TypeVariable;
import java.lang.reflect.WildcardType;
import java.util.ArrayList;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.SortedMap;
import java.util.SortedSet;
import java.util.TreeMap;
import java.util.TreeSet;

/**
 * Binds properties to objects: to records by their constructors, to beans by their setters and
 * fields, where missing properties keep their initial values. Names are compared ignoring case,
 * {@code -} and {@code _}.
 */
public final class Binder {
    private Binder() {}

    /**
     * Creates an object from properties.
     *
     * @param type a record, or a class with a constructor without parameters
     * @param prefix the prefix of the properties, for messages
     * @param values the properties below the prefix: nested maps and lists of plain values
     * @param <T> its type
     * @return the object
     * @throws IllegalArgumentException if a property is invalid; the message contains its full name
     */
    public static <T> T bind(Class<T> type, String prefix, Map<String, Object> values) {
        return type.cast(Beans.make(type, prefix, values, null));
    }

    /** Returns a name in lower case without {@code -} and {@code _}, for comparisons. */
    static String canonical(String name) {
        StringBuilder out = new StringBuilder(name.length());
        for (int i = 0; i < name.length(); i++) {
            char c = name.charAt(i);
            if (c != '-' && c != '_') {
                out.append(c);
            }
        }
        return out.toString().toLowerCase(Locale.ROOT);
    }

    static IllegalArgumentException wrong(String path, String what, Object value) {
        return new IllegalArgumentException("property '" + path + "': " + what + ": "
                + (value instanceof String s ? "\"" + s + "\"" : String.valueOf(value)));
    }

    static Class<?> raw(Type type) {
        return switch (type) {
            case Class<?> c -> c;
            case ParameterizedType p -> raw(p.getRawType());
            case GenericArrayType a -> raw(a.getGenericComponentType()).arrayType();
            case WildcardType wildcard -> raw(wildcard.getUpperBounds()[0]);
            case TypeVariable<?> v -> raw(v.getBounds()[0]);
            default -> Object.class;
        };
    }

    private static Type argument(Type type, int i) {
        return type instanceof ParameterizedType p ? p.getActualTypeArguments()[i] : Object.class;
    }

    /**
     * Converts a configured value.
     *
     * @param type the target type
     * @param path the name of the property
     * @param value the configured value, not null
     * @param current the current value, whose defaults are kept if it is a bean; may be null
     */
    static Object convert(Type type, String path, Object value, Object current) {
        Class<?> c = raw(type);
        if (c == Object.class) {
            return value;
        }
        if (c == Optional.class) {
            return Optional.of(convert(argument(type, 0), path, value, null));
        }
        if (c.isArray()) {
            Type item = type instanceof GenericArrayType a ? a.getGenericComponentType() : c.getComponentType();
            List<Object> items = items(item, path, value);
            Object array = Array.newInstance(c.getComponentType(), items.size());
            for (int i = 0; i < items.size(); i++) {
                Array.set(array, i, items.get(i));
            }
            return array;
        }
        if (c == List.class || c == Collection.class || c == Iterable.class || c == ArrayList.class) {
            return items(argument(type, 0), path, value);
        }
        if (c == Set.class || c == LinkedHashSet.class) {
            return new LinkedHashSet<>(items(argument(type, 0), path, value));
        }
        if (c == SortedSet.class || c == TreeSet.class) {
            return new TreeSet<>(items(argument(type, 0), path, value));
        }
        if (Map.class.isAssignableFrom(c)) {
            return map(type, c, path, value);
        }
        Object scalar = Scalars.convert(c, path, value);
        return scalar != Scalars.UNKNOWN ? scalar : Beans.make(c, path, value, current);
    }

    private static List<Object> items(Type item, String path, Object value) {
        List<?> list = switch (value) {
            case List<?> l -> l;
            case Map<?, ?> m -> indexed(path, m);
            case String s -> commas(s);
            default -> List.of(value);
        };
        List<Object> out = new ArrayList<>(list.size());
        for (int i = 0; i < list.size(); i++) {
            Object v = list.get(i);
            String at = path + "[" + i + "]";
            out.add(v == null ? absent(item, at) : convert(item, at, v, null));
        }
        return out;
    }

    private static List<String> commas(String text) {
        List<String> out = new ArrayList<>();
        if (!text.isBlank()) {
            for (String part : text.split(",", -1)) {
                out.add(part.strip());
            }
        }
        return out;
    }

    /** Converts a list whose items are configured by index, as in environment variables. */
    private static List<Object> indexed(String path, Map<?, ?> values) {
        Object[] out = new Object[values.size()];
        for (Map.Entry<?, ?> e : values.entrySet()) {
            int i;
            try {
                i = Integer.parseInt(String.valueOf(e.getKey()));
            } catch (NumberFormatException x) {
                throw wrong(path, "not a list", values);
            }
            if (i < 0 || i >= out.length) {
                throw wrong(path, "a list with gaps", values);
            }
            out[i] = e.getValue();
        }
        return new ArrayList<>(java.util.Arrays.asList(out));
    }

    private static Map<Object, Object> map(Type type, Class<?> c, String path, Object value) {
        if (!(value instanceof Map<?, ?> values)) {
            throw wrong(path, "not an object", value);
        }
        Map<Object, Object> out;
        if (c == SortedMap.class || c == TreeMap.class) {
            out = new TreeMap<>();
        } else if (c.isAssignableFrom(LinkedHashMap.class)) {
            out = new LinkedHashMap<>();
        } else {
            throw wrong(path, "a map of the kind " + c.getName() + " cannot be made", value);
        }
        Type keyType = argument(type, 0);
        Type valueType = argument(type, 1);
        for (Map.Entry<?, ?> e : values.entrySet()) {
            String name = String.valueOf(e.getKey());
            String at = path + "." + name;
            Object key = raw(keyType) == Object.class ? name : convert(keyType, at, name, null);
            out.put(key, e.getValue() == null ? absent(valueType, at) : convert(valueType, at, e.getValue(), null));
        }
        return out;
    }

    /**
     * Returns the value of a component that is not configured: zero, false, an empty array,
     * collection, map or Optional, or null.
     */
    static Object absent(Type type, String path) {
        Class<?> c = raw(type);
        if (c.isPrimitive()) {
            return Array.get(Array.newInstance(c, 1), 0);
        }
        if (c == Optional.class) {
            return Optional.empty();
        }
        boolean empty = c.isArray() || c == List.class || c == Collection.class || c == Iterable.class || c == Set.class || c == SortedSet.class;
        if (empty) {
            return convert(type, path, List.of(), null);
        }
        return c == Map.class || c == SortedMap.class ? convert(type, path, Map.of(), null) : null;
    }
}
