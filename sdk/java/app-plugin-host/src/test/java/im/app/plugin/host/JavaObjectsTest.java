// SPDX-License-Identifier: Apache-2.0

package im.app.plugin.host;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import im.app.plugin.host.TestServer.HostError;
import im.app.plugin.host.wire.Frame;
import im.app.plugin.host.wire.In;
import im.app.plugin.host.wire.Out;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.function.Consumer;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Tests Java classes and objects as used by a plugin in another language. */
class JavaObjectsTest {
    private static final int OWNER = 5;

    record Handle(int number, int type, int shape) {}

    record Function(int number) {}

    /** An exception of Java code. */
    static final class Thrown extends RuntimeException {
        private static final long serialVersionUID = 1L;
        final transient Object value;
        final String stack;

        Thrown(Object value, String message, String stack) {
            super(message);
            this.value = value;
            this.stack = stack;
        }
    }

    private final TestServer server = TestServer.embedded();

    @BeforeEach
    void hello() {
        server.hello(100);
    }

    @AfterEach
    void close() {
        server.close();
    }

    static void write(Out out, Object v) {
        switch (v) {
            case null -> out.u8(0);
            case Boolean b -> out.u8(b ? 2 : 1);
            case Integer n -> {
                out.u8(3);
                out.int32(n);
            }
            case Long n -> {
                out.u8(4);
                out.zigzag(n);
            }
            case Double n -> {
                out.u8(5);
                out.float64(n);
            }
            case String s -> {
                out.u8(6);
                out.string(s);
            }
            case byte[] b -> {
                out.u8(7);
                out.bytes(b);
            }
            case Handle h -> {
                out.u8(8);
                out.number(h.number);
            }
            case List<?> l -> {
                out.u8(9);
                writeAll(out, l.toArray());
            }
            case Map<?, ?> m -> {
                out.u8(10);
                out.count(m.size());
                m.forEach((k, x) -> {
                    write(out, k);
                    write(out, x);
                });
            }
            case Function f -> {
                out.u8(11);
                out.number(f.number);
            }
            default -> throw new IllegalArgumentException(v.toString());
        }
    }

    static void writeAll(Out out, Object... values) {
        out.count(values.length);
        for (Object v : values) {
            write(out, v);
        }
    }

    static Object read(In in) {
        int tag = in.u8();
        return switch (tag) {
            case 0 -> null;
            case 1 -> false;
            case 2 -> true;
            case 3 -> in.int32();
            case 4 -> in.zigzag();
            case 5 -> in.float64();
            case 6 -> in.string();
            case 7 -> in.bytes();
            case 8 -> new Handle(in.number(), in.number(), in.u8());
            case 9 -> readAll(in);
            case 10 -> {
                Map<Object, Object> m = new LinkedHashMap<>();
                for (int n = in.count(); n > 0; n--) {
                    Object k = read(in);
                    m.put(k, read(in));
                }
                yield m;
            }
            case 11 -> new Function(in.number());
            default -> throw new IllegalStateException("tag " + tag);
        };
    }

    static List<Object> readAll(In in) {
        List<Object> out = new ArrayList<>();
        for (int n = in.count(); n > 0; n--) {
            out.add(read(in));
        }
        return out;
    }

    private In request(int operation, Consumer<Out> body) {
        In in = server.request(Frame.OBJECT, out -> {
            out.number(OWNER);
            out.u8(operation);
            body.accept(out);
        });
        if (in.u8() == 0) {
            return in;
        }
        Object value = read(in);
        String message = in.string();
        in.string();
        throw new Thrown(value, message, in.string());
    }

    private Handle type(String name) {
        return (Handle) read(request(0, out -> out.string(name)));
    }

    private Object construct(Handle type, Object... args) {
        return read(request(1, out -> {
            out.number(type.number);
            writeAll(out, args);
        }));
    }

    private Object get(Object h, String name) {
        return read(request(2, out -> {
            out.number(((Handle) h).number);
            out.string(name);
        }));
    }

    private void set(Object h, String name, Object value) {
        request(3, out -> {
            out.number(((Handle) h).number);
            out.string(name);
            write(out, value);
        });
    }

    private Object invoke(Object h, String name, Object... args) {
        return read(request(4, out -> {
            out.number(((Handle) h).number);
            out.string(name);
            writeAll(out, args);
        }));
    }

    private Object copy(Object h) {
        return read(request(9, out -> out.number(((Handle) h).number)));
    }

    @Test
    void objectsAreMadeAndUsed() {
        Handle mapType = type("java.util.HashMap");
        assertEquals(1, mapType.shape);
        Object map = construct(mapType);
        assertEquals(4, ((Handle) map).shape);
        assertEquals(null, invoke(map, "put", "a", 1));
        assertEquals(1, invoke(map, "put", "a", 2.5));
        assertEquals(2.5, invoke(map, "get", "a"));
        assertEquals(1, invoke(map, "size"));
        // The class of the set is not public; its methods are those of Set.
        assertEquals(List.of("a"), copy(invoke(map, "keySet")));
        assertEquals(Map.of("a", 2.5), copy(map));
        assertEquals(((Handle) map).type, ((Handle) construct(mapType)).type);
    }

    @Test
    void overloadsAreResolved() {
        Handle string = type("java.lang.String");
        assertEquals("5", invoke(string, "valueOf", 5));
        assertEquals("5.5", invoke(string, "valueOf", 5.5));
        assertEquals("true", invoke(string, "valueOf", true));
        assertEquals("abc", invoke(string, "valueOf(char[])", List.of("a", "b", "c")));
        assertEquals("a-b", invoke(string, "join", "-", "a", "b"));
        assertEquals("a-b", invoke(string, "join", "-", List.of("a", "b")));
        assertEquals("1 x", invoke(string, "format", "%d %s", 1, "x"));
        Handle math = type("java.lang.Math");
        assertEquals(3, invoke(math, "max", 3, 2));
        assertEquals(5_000_000_000L, invoke(math, "max", 5_000_000_000L, 2));
        assertEquals(2.5, invoke(math, "max", 2.5, 2));
        Object builder = construct(type("java.lang.StringBuilder"), "x");
        invoke(builder, "append", 1);
        invoke(builder, "append", true);
        invoke(builder, "append(char)", "c");
        invoke(builder, "append", (Object) null);
        assertTrue(((String) invoke(builder, "toString")).startsWith("x1truec"));
        assertEquals("HOURS", invoke(invoke(type("java.util.concurrent.TimeUnit"), "valueOf", "HOURS"), "name"));
        assertEquals(60L, invoke(get(type("java.util.concurrent.TimeUnit"), "MINUTES"), "convert", 1, "HOURS"));
    }

    @Test
    void fieldsArraysAndNestedClasses() {
        assertEquals(Integer.MAX_VALUE, get(type("java.lang.Integer"), "MAX_VALUE"));
        Object point = construct(type("java.awt.Point"), 1, 2);
        set(point, "x", 7);
        assertEquals(7, get(point, "x"));
        Object array = construct(type("int[]"), 3);
        assertEquals(2, ((Handle) array).shape);
        set(array, "1", 9);
        assertEquals(9, get(array, "1"));
        assertEquals(3, get(array, "length"));
        assertEquals(List.of(0, 9, 0), copy(array));
        assertArrayEquals(new byte[] {104, 105}, (byte[]) copy(invoke(invoke(type("java.util.Base64"), "getDecoder"), "decode", "aGk=")));
        assertEquals("java.util.Map.Entry", ((String) invoke(get(type("java.util.Map.Entry"), "class"), "getName")).replace('$', '.'));
        assertEquals(1, ((Handle) get(type("java.util.Map"), "Entry")).shape);
        In in = request(5, out -> {
            out.number(((Handle) point).number);
            out.number(type("java.awt.geom.Point2D").number);
        });
        assertTrue(in.bool());
        In members = request(8, out -> out.number(((Handle) point).number));
        assertEquals("java.awt.Point", members.string());
        assertTrue(TestServer.strings(members).contains("distance"));
        assertEquals(List.of("x", "y"), TestServer.strings(members));
    }

    @Test
    void stringsThatAreConstructedAreValues() {
        assertEquals("abc", construct(type("java.lang.String"), "abc"));
    }

    @Test
    void exceptionsOfJavaAreObjects() {
        Object list = invoke(type("java.util.List"), "of");
        Thrown t = assertThrows(Thrown.class, () -> invoke(list, "get", 3));
        assertTrue(t.getMessage().startsWith("java.lang.ArrayIndexOutOfBoundsException: ") || t.getMessage().startsWith("java.lang.IndexOutOfBoundsException: "), t.getMessage());
        assertEquals(5, ((Handle) t.value).shape);
        assertTrue(t.stack.contains("\tat "), t.stack);
        assertTrue(((String) invoke(t.value, "getMessage")).contains("3"));
    }

    @Test
    void whatIsNotThereIsRefused() {
        String[] messages = {
            assertThrows(HostError.class, () -> type("no.Such")).getMessage(),
            assertThrows(HostError.class, () -> type("im.app.plugin.host.Host")).getMessage(),
            assertThrows(HostError.class, () -> invoke(type("java.lang.Math"), "frobnicate")).getMessage(),
            assertThrows(HostError.class, () -> invoke(type("java.lang.Math"), "abs", "x")).getMessage().split(";")[0],
            assertThrows(HostError.class, () -> construct(type("java.lang.Math"))).getMessage(),
            assertThrows(HostError.class, () -> get(type("java.lang.Math"), "TAU2")).getMessage(),
            assertThrows(HostError.class, () -> set(type("java.lang.Math"), "PI", 3)).getMessage(),
            assertThrows(HostError.class, () -> get(new Handle(9999, 0, 0), "x")).getMessage(),
            assertThrows(HostError.class, () -> get(construct(type("int[]"), 1), "1")).getMessage(),
        };
        assertArrayEquals(
                new String[] {
                    "there is no Java class no.Such",
                    "there is no Java class im.app.plugin.host.Host",
                    "class java.lang.Math has no public static method frobnicate",
                    "no method abs of class java.lang.Math takes (java.lang.String)",
                    "class java.lang.Math has no public constructor",
                    "class java.lang.Math has no public static field or nested class TAU2",
                    "field PI of class java.lang.Math is final",
                    "there is no Java object with the handle 9999: it was released",
                    "an array of length 1 has no item 1",
                },
                messages);
    }

    @Test
    void functionsAreInterfaces() {
        List<String> called = new ArrayList<>();
        server.functions = (owner, in, out) -> {
            assertEquals(OWNER, owner);
            assertEquals(0, in.u8());
            assertTrue(in.u64() > 0, "the request on whose thread it is");
            int function = in.number();
            String method = in.string();
            List<Object> args = readAll(in);
            called.add(function + "." + method);
            out.u8(0);
            switch (function) {
                case 1 -> write(out, ((Integer) args.get(1)).compareTo((Integer) args.get(0)));
                case 2 -> write(out, "<" + args.get(0) + ">");
                case 3 -> write(out, null);
                default -> throw new IllegalStateException("no function " + function);
            }
        };
        Object list = construct(type("java.util.ArrayList"), List.of(1, 3, 2));
        invoke(list, "sort", new Function(1));
        assertEquals(List.of(3, 2, 1), copy(list));
        Object mapped = invoke(invoke(invoke(list, "stream"), "map", new Function(2)), "toList");
        assertEquals(List.of("<3>", "<2>", "<1>"), copy(mapped));
        invoke(list, "forEach", new Function(3));
        assertTrue(called.containsAll(List.of("1.compare", "2.apply", "3.accept")), called.toString());
        invoke(list, "add", new Function(2));
        assertEquals(new Function(2), invoke(list, "get", 3));
        HostError e = assertThrows(HostError.class, () -> invoke(list, "sort", "text"));
        assertTrue(e.getMessage().startsWith("no method sort"), e.getMessage());
    }

    @Test
    void functionsThrow() {
        CompletableFuture<Handle> exception = new CompletableFuture<>();
        server.functions = (owner, in, out) -> {
            in.u8();
            in.u64();
            out.u8(1);
            if (in.number() == 1) {
                out.u8(0);
                out.string("TypeError: no");
                out.string("at x.js:5");
            } else {
                write(out, TestServer.await(exception));
                out.string("again");
                out.string("");
            }
        };
        Object list = construct(type("java.util.ArrayList"), List.of(1, 2));
        Thrown t = assertThrows(Thrown.class, () -> invoke(list, "forEach", new Function(1)));
        assertEquals("im.app.plugin.host.object.FunctionException: TypeError: no", t.getMessage());
        exception.complete((Handle) construct(type("java.lang.IllegalStateException"), "mine"));
        t = assertThrows(Thrown.class, () -> invoke(list, "forEach", new Function(2)));
        assertEquals("java.lang.IllegalStateException: mine", t.getMessage());
    }

    @Test
    void whatFunctionsThrowComesBack() {
        server.functions = (owner, in, out) -> {
            in.u8();
            in.u64();
            out.u8(1);
            write(out, new Function(77));
            out.string("Error: no");
            out.string("");
        };
        Object list = construct(type("java.util.ArrayList"), List.of(1, 2));
        Thrown t = assertThrows(Thrown.class, () -> invoke(list, "forEach", new Function(1)));
        assertEquals(new Function(77), t.value);
    }

    @Test
    void objectsHaveSomeOfTheFunctions() {
        List<String> called = new ArrayList<>();
        server.functions = (owner, in, out) -> {
            in.u8();
            in.u64();
            in.number();
            String method = in.string();
            called.add(method);
            if (method.equals("hasNext")) {
                out.u8(0);
                write(out, true);
            } else {
                out.u8(2);
            }
        };
        Handle spliterators = type("java.util.Spliterators");
        Object each = invoke(spliterators, "spliteratorUnknownSize(java.util.Iterator,int)", new Function(1), 0);
        Object stream = invoke(type("java.util.stream.StreamSupport"), "stream", each, false);
        Thrown t = assertThrows(Thrown.class, () -> invoke(stream, "findFirst"));
        assertEquals("java.lang.UnsupportedOperationException: the plugin's object for java.util.Iterator has no function next", t.getMessage());
        assertEquals(List.of("hasNext", "next"), called);
        // If the object lacks a default method, the implementation of the interface is called.
        Object other = invoke(spliterators, "spliteratorUnknownSize(java.util.Iterator,int)", new Function(2), 0);
        called.clear();
        assertThrows(Thrown.class, () -> invoke(other, "forEachRemaining", new Function(3)));
        assertEquals(List.of("forEachRemaining", "hasNext", "next"), called);
    }

    @Test
    void valuesBecomeArraysAndInterfaces() {
        assertEquals(List.of(1, 2), copy(construct(type("int[]"), List.of(1, 2))));
        assertArrayEquals(new byte[] {1}, (byte[]) copy(construct(type("byte[]"), new byte[] {1})));
        assertEquals(List.of("a"), copy(construct(type("java.util.Set"), List.of("a"))));
        assertEquals(Map.of("a", 1), copy(construct(type("java.util.Map"), Map.of("a", 1))));
        assertEquals(new Function(4), construct(type("java.lang.Runnable"), new Function(4)));
        assertThrows(HostError.class, () -> construct(type("int[]"), List.of("x")));
    }

    @Test
    void statsCountHandlesAndFunctions() {
        Object list = construct(type("java.util.ArrayList"), List.of(new Function(1)));
        In in = server.request(Frame.STATS, out -> out.bool(true));
        for (int i = 0; i < 6; i++) {
            in.zigzag();
        }
        assertEquals(2, in.zigzag(), "the class and the list");
        assertEquals(1, in.zigzag());
        assertEquals(1, invoke(list, "size"));
    }

    @Test
    void handlesAreReleased() {
        Object list = construct(type("java.util.ArrayList"));
        request(6, out -> {
            out.count(1);
            out.number(((Handle) list).number);
        });
        assertThrows(HostError.class, () -> invoke(list, "size"));
        Object other = construct(type("java.util.ArrayList"));
        request(7, out -> {});
        assertThrows(HostError.class, () -> invoke(other, "size"));
    }

    @Test
    void functionsAreReleasedWhenNothingRefersToThem() {
        CompletableFuture<List<Integer>> released = new CompletableFuture<>();
        server.functions = (owner, in, out) -> {
            if (in.u8() == 1) {
                List<Integer> numbers = new ArrayList<>();
                for (int n = in.count(); n > 0; n--) {
                    numbers.add(in.number());
                }
                released.complete(numbers);
            } else {
                out.u8(0);
                write(out, null);
            }
        };
        Object list = construct(type("java.util.ArrayList"), List.of(1));
        invoke(list, "forEach", new Function(42));
        while (!released.isDone()) {
            server.request(Frame.STATS, out -> out.bool(true));
            invoke(list, "size");
        }
        assertEquals(List.of(42), TestServer.await(released));
    }
}
