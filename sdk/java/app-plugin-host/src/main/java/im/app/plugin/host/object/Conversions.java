// SPDX-License-Identifier: Apache-2.0

package im.app.plugin.host.object;

import java.lang.reflect.Array;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.math.BigDecimal;
import java.math.BigInteger;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.Function;

/** Converts values of the other language to Java types, and determines the cost of a conversion. */
final class Conversions {
    /** A list of the other language. */
    record ListValue(List<Object> items) {}

    /** A map of the other language. */
    record MapValue(Map<Object, Object> entries) {}

    /** A function of the other language. */
    record FunctionValue(int number) {}

    /** Creates an instance of an interface that calls a function. */
    interface Proxies {
        Object proxy(FunctionValue function, Class<?> type);
    }

    static final int NO = -1;
    private static final int ANY = 20;

    private Conversions() {}

    /** Returns the cost of converting a value to a type; {@link #NO} if it cannot be converted. */
    static int cost(Object v, Class<?> t) {
        return switch (v) {
            case null -> t.isPrimitive() ? NO : t == String.class ? 1 : t.isArray() ? 3 : 2;
            case Boolean b -> t == boolean.class ? 0 : t == Boolean.class ? 1 : any(b, t);
            case Integer n -> number(n, t);
            case Long n -> number(n, t);
            case Double n -> number(n, t);
            case String s -> text(s, t);
            case ListValue l -> list(l, t);
            case MapValue m -> t == Map.class || t == LinkedHashMap.class ? 1 : t == Object.class ? ANY : NO;
            case FunctionValue f -> function(t);
            default -> object(v, t);
        };
    }

    private static int any(Object v, Class<?> t) {
        return t.isInstance(v) ? t == Object.class ? ANY : ANY - 1 : NO;
    }

    private static int number(Number n, Class<?> t) {
        Class<?> p = primitive(t);
        boolean boxed = p != t;
        int c;
        if (n instanceof Double d) {
            c = p == double.class ? 0 : p == float.class ? 1 : Math.rint(d) == d && fits((long) (double) d, p) && Math.abs(d) < 1L << 53 ? 2 + width(p) : NO;
        } else {
            long l = n.longValue();
            c = fits(l, p) ? width(p) : p == double.class ? 5 : p == float.class ? 6 : NO;
            if (n instanceof Long && p == long.class) {
                c = 0;
            }
        }
        if (c != NO) {
            return 2 * c + (boxed ? 1 : 0);
        }
        if (t == BigInteger.class || t == BigDecimal.class) {
            return t == BigInteger.class && n instanceof Double ? NO : ANY - 3;
        }
        return any(n, t);
    }

    private static Class<?> primitive(Class<?> t) {
        if (t == Integer.class) {
            return int.class;
        }
        if (t == Long.class) {
            return long.class;
        }
        if (t == Double.class) {
            return double.class;
        }
        if (t == Float.class) {
            return float.class;
        }
        if (t == Short.class) {
            return short.class;
        }
        return t == Byte.class ? byte.class : t;
    }

    private static boolean fits(long l, Class<?> p) {
        return p == long.class || p == int.class && l == (int) l || p == short.class && l == (short) l || p == byte.class && l == (byte) l;
    }

    private static int width(Class<?> p) {
        return p == int.class ? 0 : p == long.class ? 1 : p == short.class ? 3 : 4;
    }

    private static int text(String s, Class<?> t) {
        if (t == String.class) {
            return 0;
        }
        if (t == CharSequence.class) {
            return 2;
        }
        if ((t == char.class || t == Character.class) && s.length() == 1) {
            return t == char.class ? 6 : 7;
        }
        if (t.isEnum()) {
            return constant(s, t) == null ? NO : 8;
        }
        return any(s, t);
    }

    private static Object constant(String s, Class<?> t) {
        for (Object c : t.getEnumConstants()) {
            if (((Enum<?>) c).name().equals(s)) {
                return c;
            }
        }
        return null;
    }

    private static int list(ListValue l, Class<?> t) {
        if (t.isArray()) {
            for (Object item : l.items) {
                if (cost(item, t.getComponentType()) == NO) {
                    return NO;
                }
            }
            return 2;
        }
        if (t == List.class || t == ArrayList.class || t == java.util.Collection.class || t == Iterable.class) {
            return 1;
        }
        return t == Set.class || t == LinkedHashSet.class ? 3 : t == Object.class ? ANY : NO;
    }

    private static int function(Class<?> t) {
        if (!t.isInterface() || t.isAnnotation() || t.isSealed()) {
            return t == Object.class ? ANY : NO;
        }
        return functional(t) ? 1 : 3;
    }

    /** Returns whether an interface has exactly one abstract method. */
    static boolean functional(Class<?> t) {
        int n = 0;
        for (Method m : t.getMethods()) {
            if (Modifier.isAbstract(m.getModifiers()) && !ofObject(m)) {
                n++;
            }
        }
        return n == 1;
    }

    private static boolean ofObject(Method m) {
        try {
            Object.class.getMethod(m.getName(), m.getParameterTypes());
            return true;
        } catch (NoSuchMethodException e) {
            return false;
        }
    }

    private static int object(Object v, Class<?> t) {
        if (!t.isInstance(v)) {
            return NO;
        }
        if (t == Object.class) {
            return ANY;
        }
        if (t.isInterface()) {
            return 10;
        }
        int n = 0;
        for (Class<?> c = v.getClass(); c != t && c != null; c = c.getSuperclass()) {
            n++;
        }
        return Math.min(n, 9);
    }

    /** Converts a value to a type for which the cost is not {@link #NO}. */
    static Object convert(Object v, Class<?> t, Proxies proxies) {
        return switch (v) {
            case null -> null;
            case Integer n -> toNumber(n, t);
            case Long n -> toNumber(n, t);
            case Double n -> toNumber(n, t);
            case String s -> t == char.class || t == Character.class ? (Object) s.charAt(0) : t.isEnum() ? constant(s, t) : s;
            case ListValue l -> toList(l, t, proxies);
            case MapValue m -> {
                Map<Object, Object> out = new LinkedHashMap<>();
                m.entries.forEach((k, x) -> out.put(plain(k, proxies), plain(x, proxies)));
                yield out;
            }
            case FunctionValue f -> proxies.proxy(f, t == Object.class ? Function.class : t);
            case Owner.StaticClass c -> c.type();
            default -> v;
        };
    }

    private static Object plain(Object v, Proxies proxies) {
        return convert(v, Object.class, proxies);
    }

    private static Object toNumber(Number n, Class<?> t) {
        Class<?> p = primitive(t);
        if (p == int.class) {
            return n.intValue();
        }
        if (p == long.class) {
            return n.longValue();
        }
        if (p == double.class) {
            return n.doubleValue();
        }
        if (p == float.class) {
            return n.floatValue();
        }
        if (p == short.class) {
            return n.shortValue();
        }
        if (p == byte.class) {
            return n.byteValue();
        }
        if (t == BigInteger.class) {
            return BigInteger.valueOf(n.longValue());
        }
        return t == BigDecimal.class ? new BigDecimal(n.toString()) : n;
    }

    private static Object toList(ListValue l, Class<?> t, Proxies proxies) {
        if (t.isArray()) {
            Object array = Array.newInstance(t.getComponentType(), l.items.size());
            for (int i = 0; i < l.items.size(); i++) {
                Array.set(array, i, convert(l.items.get(i), t.getComponentType(), proxies));
            }
            return array;
        }
        List<Object> out = new ArrayList<>();
        for (Object item : l.items) {
            out.add(plain(item, proxies));
        }
        return t == Set.class || t == LinkedHashSet.class ? new LinkedHashSet<>(out) : out;
    }
}
