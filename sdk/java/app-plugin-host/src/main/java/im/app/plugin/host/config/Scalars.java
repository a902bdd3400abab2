// SPDX-License-Identifier: Apache-2.0

package im.app.plugin.host.config;

import java.io.File;
import java.lang.reflect.Constructor;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.math.BigDecimal;
import java.math.BigInteger;
import java.net.URI;
import java.net.URISyntaxException;
import java.nio.charset.Charset;
import java.nio.charset.IllegalCharsetNameException;
import java.nio.charset.UnsupportedCharsetException;
import java.nio.file.InvalidPathException;
import java.nio.file.Path;
import java.time.Duration;
import java.time.format.DateTimeParseException;
import java.util.Arrays;
import java.util.Locale;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;

/** Converts scalars: values that are configured as one text, number or boolean. */
final class Scalars {
    /** The result for types that are not scalars. */
    static final Object UNKNOWN = new Object();

    private static final Pattern DURATION = Pattern.compile("(-?\\d+(?:\\.\\d+)?)\\s*([a-zµ]*)", Pattern.CASE_INSENSITIVE);
    private static final Map<String, Long> UNITS = Map.of(
            "ns", 1L,
            "us", 1_000L,
            "µs", 1_000L,
            "", 1_000_000L,
            "ms", 1_000_000L,
            "s", 1_000_000_000L,
            "m", 60_000_000_000L,
            "h", 3_600_000_000_000L,
            "d", 86_400_000_000_000L);

    private Scalars() {}

    static Object convert(Class<?> type, String path, Object value) {
        if (type == String.class || type == CharSequence.class) {
            if (value instanceof Map || value instanceof Iterable) {
                throw Binder.wrong(path, "not a text", value);
            }
            return String.valueOf(value);
        }
        if (type == boolean.class || type == Boolean.class) {
            return bool(path, value);
        }
        if (type == char.class || type == Character.class) {
            String s = String.valueOf(value);
            if (s.length() != 1) {
                throw Binder.wrong(path, "not one character", value);
            }
            return s.charAt(0);
        }
        if (type.isPrimitive() || Number.class.isAssignableFrom(type)) {
            return number(type, path, value);
        }
        if (type.isEnum()) {
            return constant(type, path, value);
        }
        if (type == Duration.class) {
            return duration(path, value);
        }
        return value instanceof Map || value instanceof Iterable ? UNKNOWN : text(type, path, String.valueOf(value).strip());
    }

    private static Object bool(String path, Object value) {
        return switch (String.valueOf(value).strip().toLowerCase(Locale.ROOT)) {
            case "true", "yes", "on", "1" -> true;
            case "false", "no", "off", "0" -> false;
            default -> throw Binder.wrong(path, "neither true nor false", value);
        };
    }

    private static Object number(Class<?> type, String path, Object value) {
        BigDecimal n;
        try {
            String s = value instanceof Number ? value.toString() : String.valueOf(value).strip().replace("_", "");
            n = s.toLowerCase(Locale.ROOT).startsWith("0x") ? new BigDecimal(new BigInteger(s.substring(2), 16)) : new BigDecimal(s);
        } catch (NumberFormatException e) {
            throw Binder.wrong(path, "not a number", value);
        }
        if (type == double.class || type == Double.class || type == Number.class) {
            return n.doubleValue();
        }
        if (type == float.class || type == Float.class) {
            return n.floatValue();
        }
        if (type == BigDecimal.class) {
            return n;
        }
        BigInteger whole;
        try {
            whole = n.toBigIntegerExact();
        } catch (ArithmeticException e) {
            throw Binder.wrong(path, "not a whole number", value);
        }
        if (type == BigInteger.class) {
            return whole;
        }
        try {
            if (type == int.class || type == Integer.class) {
                return whole.intValueExact();
            }
            if (type == long.class || type == Long.class) {
                return whole.longValueExact();
            }
            if (type == short.class || type == Short.class) {
                return whole.shortValueExact();
            }
            if (type == byte.class || type == Byte.class) {
                return whole.byteValueExact();
            }
        } catch (ArithmeticException e) {
            throw Binder.wrong(path, "too large a number", value);
        }
        throw Binder.wrong(path, "a number of the kind " + type.getName() + " cannot be made", value);
    }

    private static Object constant(Class<?> type, String path, Object value) {
        String wanted = Binder.canonical(String.valueOf(value).strip());
        for (Object c : type.getEnumConstants()) {
            if (Binder.canonical(((Enum<?>) c).name()).equals(wanted)) {
                return c;
            }
        }
        throw Binder.wrong(
                path,
                "not one of " + Arrays.stream(type.getEnumConstants()).map(c -> ((Enum<?>) c).name()).collect(Collectors.joining(", ")),
                value);
    }

    private static Duration duration(String path, Object value) {
        String s = String.valueOf(value).strip();
        Matcher m = DURATION.matcher(s);
        try {
            if (!m.matches()) {
                return Duration.parse(s);
            }
            Long unit = UNITS.get(m.group(2).toLowerCase(Locale.ROOT));
            if (unit != null) {
                BigDecimal[] parts = new BigDecimal(m.group(1)).multiply(BigDecimal.valueOf(unit)).divideAndRemainder(BigDecimal.valueOf(1_000_000_000L));
                return Duration.ofSeconds(parts[0].longValueExact(), parts[1].longValue());
            }
        } catch (DateTimeParseException | ArithmeticException e) {
            // Reported below.
        }
        throw Binder.wrong(path, "not a duration, such as 90s, 500ms or PT2.5S", value);
    }

    private static Object text(Class<?> type, String path, String s) {
        try {
            if (type == URI.class) {
                return new URI(s);
            }
            if (type == Path.class) {
                return Path.of(s);
            }
            if (type == File.class) {
                return new File(s);
            }
            if (type == Charset.class) {
                return Charset.forName(s);
            }
            if (type == Pattern.class) {
                return Pattern.compile(s);
            }
        } catch (URISyntaxException | InvalidPathException | IllegalCharsetNameException | UnsupportedCharsetException
                | java.util.regex.PatternSyntaxException e) {
            throw Binder.wrong(path, "not a " + type.getSimpleName(), s);
        }
        return viaText(type, path, s);
    }

    /**
     * Calls the factory method or the constructor of a class for a text. Returns {@link #UNKNOWN}
     * if it has none.
     */
    private static Object viaText(Class<?> type, String path, String s) {
        try {
            for (String name : new String[] {"valueOf", "of", "parse", "fromString", "forName"}) {
                for (Method m : type.getMethods()) {
                    if (m.getName().equals(name) && Modifier.isStatic(m.getModifiers()) && type.isAssignableFrom(m.getReturnType())
                            && m.getParameterCount() == 1 && m.getParameterTypes()[0].isAssignableFrom(String.class)) {
                        m.setAccessible(true);
                        return m.invoke(null, s);
                    }
                }
            }
            if (!type.isRecord() && !Modifier.isAbstract(type.getModifiers())) {
                Constructor<?> c = type.getConstructor(String.class);
                return c.newInstance(s);
            }
        } catch (NoSuchMethodException e) {
            return UNKNOWN;
        } catch (InvocationTargetException e) {
            throw Binder.wrong(path, "not a " + type.getSimpleName(), s);
        } catch (ReflectiveOperationException | RuntimeException e) {
            return UNKNOWN;
        }
        return UNKNOWN;
    }
}
