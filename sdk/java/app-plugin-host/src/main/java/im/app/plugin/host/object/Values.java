// SPDX-License-Identifier: Apache-2.0

package im.app.plugin.host.object;

import im.app.plugin.host.RefusedException;
import im.app.plugin.host.wire.In;
import im.app.plugin.host.wire.Out;
import im.app.plugin.host.wire.ProtocolException;
import java.lang.reflect.Array;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** Reads and writes tagged values. */
final class Values {
    private static final int NULL = 0;
    private static final int FALSE = 1;
    private static final int TRUE = 2;
    private static final int INT = 3;
    private static final int LONG = 4;
    private static final int DOUBLE = 5;
    private static final int STRING = 6;
    private static final int BYTES = 7;
    private static final int HANDLE = 8;
    private static final int LIST = 9;
    private static final int MAP = 10;
    private static final int FUNCTION = 11;

    private static final int DEEPEST = 100;

    private Values() {}

    static Object read(In in, Owner owner) throws RefusedException {
        return read(in, owner, 0);
    }

    private static Object read(In in, Owner owner, int depth) throws RefusedException {
        if (depth > DEEPEST) {
            throw new RefusedException("a value is nested more than " + DEEPEST + " times");
        }
        int tag = in.u8();
        return switch (tag) {
            case NULL -> null;
            case FALSE -> false;
            case TRUE -> true;
            case INT -> in.int32();
            case LONG -> in.zigzag();
            case DOUBLE -> in.float64();
            case STRING -> in.string();
            case BYTES -> in.bytes();
            case HANDLE -> owner.get(in.number());
            case LIST -> new Conversions.ListValue(list(in, owner, depth));
            case MAP -> {
                Map<Object, Object> out = new LinkedHashMap<>();
                for (int n = in.count(); n > 0; n--) {
                    Object key = read(in, owner, depth + 1);
                    out.put(key, read(in, owner, depth + 1));
                }
                yield new Conversions.MapValue(out);
            }
            case FUNCTION -> new Conversions.FunctionValue(in.number());
            default -> throw new ProtocolException("value with the unknown tag " + tag);
        };
    }

    static List<Object> readList(In in, Owner owner) throws RefusedException {
        return list(in, owner, 0);
    }

    private static List<Object> list(In in, Owner owner, int depth) throws RefusedException {
        int n = in.count();
        List<Object> out = new ArrayList<>(n);
        for (int i = 0; i < n; i++) {
            out.add(read(in, owner, depth + 1));
        }
        return out;
    }

    /**
     * Writes a value: primitive values and strings as such, functions of the owner by number,
     * others as new handles.
     */
    static void write(Out out, Object v, Owner owner) {
        switch (v) {
            case null -> out.u8(NULL);
            case Boolean b -> out.u8(b ? TRUE : FALSE);
            case Byte n -> integer(out, n);
            case Short n -> integer(out, n);
            case Integer n -> integer(out, n);
            case Long n -> {
                out.u8(LONG);
                out.zigzag(n);
            }
            case Float n -> fraction(out, n);
            case Double n -> fraction(out, n);
            case String s -> string(out, s);
            case Character c -> string(out, c.toString());
            default -> {
                Integer function = v instanceof FunctionException e ? e.number(owner) : FunctionProxy.function(v, owner);
                if (function != null) {
                    out.u8(FUNCTION);
                    out.number(function);
                } else {
                    handle(out, v, owner);
                }
            }
        }
    }

    private static void integer(Out out, int n) {
        out.u8(INT);
        out.int32(n);
    }

    private static void fraction(Out out, double n) {
        out.u8(DOUBLE);
        out.float64(n);
    }

    private static void string(Out out, String s) {
        out.u8(STRING);
        out.string(s);
    }

    private static void handle(Out out, Object v, Owner owner) {
        out.u8(HANDLE);
        out.number(owner.put(v));
        if (v instanceof Owner.StaticClass c) {
            out.number(Members.of(c.type()).staticNumber);
        } else {
            out.number(Members.of(v.getClass()).number);
        }
        out.u8(shape(v));
    }

    private static int shape(Object v) {
        if (v instanceof Owner.StaticClass) {
            return 1;
        }
        if (v.getClass().isArray()) {
            return 2;
        }
        return v instanceof Iterable ? 3 : v instanceof Map ? 4 : v instanceof Throwable ? 5 : 0;
    }

    static void writeList(Out out, List<?> items, Owner owner) {
        out.count(items.size());
        for (Object item : items) {
            write(out, item, owner);
        }
    }

    /** Writes the contents of an array, an iterable or a map. */
    static void copy(Out out, Object v, Owner owner) throws RefusedException {
        switch (v) {
            case byte[] b -> {
                out.u8(BYTES);
                out.bytes(b);
            }
            case Map<?, ?> m -> {
                out.u8(MAP);
                Map<?, ?> copy = new LinkedHashMap<>(m);
                out.count(copy.size());
                copy.forEach((k, x) -> {
                    write(out, k, owner);
                    write(out, x, owner);
                });
            }
            case Iterable<?> all -> {
                List<Object> items = new ArrayList<>();
                all.forEach(items::add);
                out.u8(LIST);
                writeList(out, items, owner);
            }
            default -> {
                if (!v.getClass().isArray()) {
                    throw new RefusedException("an instance of class " + v.getClass().getTypeName() + " is neither an array, nor a map, nor can it be iterated over");
                }
                out.u8(LIST);
                int n = Array.getLength(v);
                out.count(n);
                for (int i = 0; i < n; i++) {
                    write(out, Array.get(v, i), owner);
                }
            }
        }
    }
}
