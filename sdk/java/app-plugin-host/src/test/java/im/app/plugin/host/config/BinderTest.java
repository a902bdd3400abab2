// SPDX-License-Identifier: Apache-2.0

package im.app.plugin.host.config;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;

import im.app.plugin.json.Json;
import java.math.BigDecimal;
import java.net.URI;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.UUID;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class BinderTest {
    enum Mode {
        READ_ONLY,
        READ_WRITE
    }

    record Server(String host, int port, boolean secure) {}

    record All(
            String text,
            int whole,
            Long boxed,
            double fraction,
            boolean flag,
            char letter,
            Mode mode,
            Duration timeout,
            URI address,
            Path file,
            UUID uuid,
            Instant time,
            BigDecimal money,
            Optional<String> maybe,
            Optional<Integer> none,
            List<String> words,
            Set<Integer> numbers,
            int[] array,
            Map<String, Server> servers,
            Map<Mode, Integer> byMode,
            List<Server> list,
            Object anything,
            Server missing) {}

    private static <T> T bind(Class<T> type, String json) {
        return Binder.bind(type, "acme", Json.object(json));
    }

    @Test
    void recordsGetEveryKindOfValue() {
        All a = bind(
                All.class,
                """
                {"TEXT": "t", "whole": "42", "boxed": 5000000000, "fraction": 2.5, "flag": "yes", "letter": "x", "mode": "read-only",
                 "timeout": "90s", "address": "http://example.org/x", "file": "a/b", "uuid": "123e4567-e89b-12d3-a456-426614174000",
                 "time": "2024-01-02T03:04:05Z", "money": "1.10", "maybe": "there", "words": "a, b ,c", "numbers": [1, "2", 2],
                 "array": {"1": 8, "0": "7"}, "servers": {"One-1": {"host": "h", "port": 80}}, "by_mode": {"READ_WRITE": 1},
                 "list": [{"host": "x", "secure": true}], "anything": {"k": [1]}, "unknown": 1}
                """);
        assertEquals("t", a.text);
        assertEquals(42, a.whole);
        assertEquals(5_000_000_000L, a.boxed);
        assertEquals(2.5, a.fraction);
        assertEquals(true, a.flag);
        assertEquals('x', a.letter);
        assertSame(Mode.READ_ONLY, a.mode);
        assertEquals(Duration.ofSeconds(90), a.timeout);
        assertEquals(URI.create("http://example.org/x"), a.address);
        assertEquals(Path.of("a", "b"), a.file);
        assertEquals(UUID.fromString("123e4567-e89b-12d3-a456-426614174000"), a.uuid);
        assertEquals(Instant.parse("2024-01-02T03:04:05Z"), a.time);
        assertEquals(new BigDecimal("1.10"), a.money);
        assertEquals(Optional.of("there"), a.maybe);
        assertEquals(Optional.empty(), a.none);
        assertEquals(List.of("a", "b", "c"), a.words);
        assertEquals(Set.of(1, 2), a.numbers);
        assertArrayEquals(new int[] {7, 8}, a.array);
        assertEquals(Map.of("One-1", new Server("h", 80, false)), a.servers);
        assertEquals(Map.of(Mode.READ_WRITE, 1), a.byMode);
        assertEquals(List.of(new Server("x", 0, true)), a.list);
        assertEquals(Map.of("k", List.of(1L)), a.anything);
        assertNull(a.missing);
    }

    @Test
    void whatIsAbsentIsEmpty() {
        All a = bind(All.class, "{}");
        assertEquals(List.of(), a.words);
        assertEquals(Map.of(), a.servers);
        assertEquals(0, a.array.length);
        assertEquals(Optional.empty(), a.maybe);
        assertNull(a.text);
        assertEquals(0, a.whole);
    }

    static class Base {
        String inherited = "base";
    }

    static class Nested {
        int depth = 3;
        String kept = "kept";
    }

    static class Bean extends Base {
        private int maxSize = 10;
        String name = "unset";
        final Nested nested = new Nested();
        Nested other;
        List<Integer> items = List.of(1);
        static int shared = 1;
        transient int ignored = 2;
        private boolean called;

        public void setMaxSize(int n) {
            if (n < 0) {
                throw new IllegalArgumentException("negative");
            }
            called = true;
            maxSize = n;
        }
    }

    @Test
    void beansKeepTheirDefaults() {
        Bean b = bind(Bean.class, "{\"max-size\": 5, \"nested\": {\"DEPTH\": 4}, \"other\": {}, \"inherited\": \"changed\", \"shared\": 7, \"ignored\": 7}");
        assertEquals(5, b.maxSize);
        assertEquals(true, b.called);
        assertEquals("unset", b.name);
        assertEquals(4, b.nested.depth);
        assertEquals("kept", b.nested.kept);
        assertEquals(3, b.other.depth);
        assertEquals(List.of(1), b.items);
        assertEquals("changed", b.inherited);
        assertEquals(1, Bean.shared);
        assertEquals(2, b.ignored);
    }

    record Holder(Server server, Duration pause, Mode mode, List<Server> servers, boolean on, byte small, Map<String, Integer> map, URI uri, Bean bean) {}

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            quoteCharacter = '`',
            value = {
                "{\"servers\": [{\"port\": \"eighty\"}]}|property 'acme.servers[0].port': not a number: \"eighty\"",
                "{\"server\": \"x\"}|property 'acme.server': not an object: \"x\"",
                "{\"pause\": \"soon\"}|property 'acme.pause': not a duration, such as 90s, 500ms or PT2.5S: \"soon\"",
                "{\"mode\": \"write\"}|property 'acme.mode': not one of READ_ONLY, READ_WRITE: \"write\"",
                "{\"on\": \"maybe\"}|property 'acme.on': neither true nor false: \"maybe\"",
                "{\"small\": 300}|property 'acme.small': too large a number: 300",
                "{\"small\": 2.5}|property 'acme.small': not a whole number: 2.5",
                "{\"map\": {\"Key\": \"v\"}}|property 'acme.map.Key': not a number: \"v\"",
                "{\"map\": [1]}|property 'acme.map': not an object: [1]",
                "{\"uri\": \"a b\"}|property 'acme.uri': not a URI: \"a b\"",
                "{\"servers\": {\"x\": 1}}|property 'acme.servers': not a list: {x=1}",
                "{\"bean\": {\"max-size\": -1}}|property 'acme.bean.max-size': class im.app.plugin.host.config.BinderTest$Bean refused it: negative",
            })
    void errorsHaveThePathOfTheProperty(String json, String message) {
        assertEquals(message, assertThrows(IllegalArgumentException.class, () -> bind(Holder.class, json)).getMessage());
    }

    @ParameterizedTest
    @CsvSource({"90s,PT1M30S", "PT2.5S,PT2.5S", "1500,PT1.5S", "2h,PT2H", "1.5m,PT1M30S", "500ms,PT0.5S", "1d,PT24H", "250us,PT0.00025S", "10 s,PT10S"})
    void durations(String given, String want) {
        assertEquals(Duration.parse(want), bind(Holder.class, "{\"pause\": \"" + given + "\"}").pause);
    }

    static class NoConstructor {
        NoConstructor(int i) {}
    }

    @Test
    void classesWithoutConstructorAreRefused() {
        assertEquals("property 'acme': class im.app.plugin.host.config.BinderTest$NoConstructor must have a constructor without arguments, or be a record",
                assertThrows(IllegalArgumentException.class, () -> bind(NoConstructor.class, "{}")).getMessage());
    }
}
