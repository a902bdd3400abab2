// SPDX-License-Identifier: Apache-2.0

package im.app.plugin.json;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.math.BigDecimal;
import java.math.BigInteger;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.SequencedSet;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class JsonTest {

    enum Color {
        RED,
        GREEN
    }

    record Point(int x, Integer y) {}

    record Shape(String name, @JsonName("the-color") Color color, List<Point> points, Map<String, Long> sizes, Instant made, byte[] data, double weight, boolean open) {}

    @Test
    void readsWhatItWrote() {
        Map<String, Object> value = new LinkedHashMap<>();
        value.put("text", "a \"quote\", a \\, a\nline, \u0001 and 😀");
        value.put("whole", Long.MIN_VALUE);
        value.put("big", new BigInteger("123456789012345678901234567890"));
        value.put("real", -1.5e-7);
        value.put("list", Arrays.asList(true, false, null, List.of(), Map.of()));
        assertEquals(value, Json.parse(Json.write(value)));
    }

    @Test
    void readsEscapesAndSpace() {
        assertEquals(Map.of("aé/\b\f\n\r\t", List.of(0L, 1.0)), Json.parse(" {\"a\\u00e9\\/\\b\\f\\n\\r\\t\" : [ 0 , 1.0 ] } \n"));
    }

    @ParameterizedTest
    @ValueSource(strings = {"", "{", "[1,]", "{\"a\":}", "{a:1}", "01", "1.", "\"a", "\"\\x\"", "\"\\u12g4\"", "tru", "1 2", "\"\n\"", "nul", "-", "+1", "'a'"})
    void refusesWhatIsNotJson(String text) {
        assertThrows(JsonException.class, () -> Json.parse(text));
    }

    @Test
    void refusesDeepNesting() {
        assertThrows(JsonException.class, () -> Json.parse("[".repeat(100_000)));
    }

    @Test
    void makesRecords() {
        Shape shape = Json.read("""
                {"name": "star", "the-color": "RED", "points": [{"x": 1, "y": 2}, {"x": 3}], "sizes": {"a": 9007199254740993},
                 "made": "2030-01-02T03:04:05.678+01:00", "data": "AQI=", "weight": 2, "open": true, "unknown": 1}""", Shape.class);
        assertEquals("star", shape.name());
        assertEquals(Color.RED, shape.color());
        assertEquals(List.of(new Point(1, 2), new Point(3, null)), shape.points());
        assertEquals(Map.of("a", 9007199254740993L), shape.sizes());
        assertEquals(Instant.parse("2030-01-02T02:04:05.678Z"), shape.made());
        assertEquals(2, shape.data().length);
        assertEquals(2.0, shape.weight());
        assertEquals("{\"name\":\"star\",\"the-color\":\"RED\",\"points\":[{\"x\":1,\"y\":2},{\"x\":3}],\"sizes\":{\"a\":9007199254740993},"
                + "\"made\":\"2030-01-02T02:04:05.678Z\",\"data\":\"AQI=\",\"weight\":2.0,\"open\":true}", Json.write(shape));
        assertNull(Json.read("null", Shape.class));
    }

    @Test
    void errorsNameThePlace() {
        JsonException e = assertThrows(JsonException.class, () -> Json.read("{\"points\":[{\"x\":\"one\"}]}", Shape.class));
        assertEquals("the value of points[0].x must be a number that fits int, not \"one\"", e.getMessage());
        e = assertThrows(JsonException.class, () -> Json.read("{\"points\":[{\"x\":3000000000}]}", Shape.class));
        assertEquals("the value of points[0].x must be a number that fits int, not 3000000000", e.getMessage());
        e = assertThrows(JsonException.class, () -> Json.read("{\"the-color\":\"BLUE\"}", Shape.class));
        assertEquals("the value of the-color must be a name of Color, not \"BLUE\"", e.getMessage());
        e = assertThrows(JsonException.class, () -> Json.write(new Object()));
        assertEquals("JSON has no counterpart of java.lang.Object", e.getMessage());
    }

    record Limits(
            @JsonSchema(minimum = 1, maximum = 2.5, defaultValue = "2", description = "How many.") double count,
            @JsonSchema(optional = true, minLength = 1, maxLength = 9, pattern = "^a", format = "password") String name,
            @JsonSchema(maxLength = 3) List<String> tags, Optional<Integer> maybe) {}

    @Test
    void makesSchemas() {
        assertEquals(Json.parse("""
                {"type": "object", "properties": {
                  "name": {"type": "string"}, "the-color": {"type": "string", "enum": ["RED", "GREEN"]},
                  "points": {"type": "array", "items": {"type": "object", "properties": {
                    "x": {"type": "integer", "format": "int32"}, "y": {"type": "integer", "format": "int32"}}, "required": ["x", "y"]}},
                  "sizes": {"type": "object", "additionalProperties": {"type": "integer", "format": "int64"}},
                  "made": {"type": "string", "format": "date-time"}, "data": {"type": "string", "format": "byte"},
                  "weight": {"type": "number"}, "open": {"type": "boolean"}},
                 "required": ["name", "the-color", "points", "sizes", "made", "data", "weight", "open"]}"""), Json.parse(Json.write(Json.schema(Shape.class))));
        assertEquals(Json.parse("""
                {"type": "object", "properties": {
                  "count": {"type": "number", "description": "How many.", "default": 2, "minimum": 1, "maximum": 2.5},
                  "name": {"type": "string", "minLength": 1, "maxLength": 9, "pattern": "^a", "format": "password"},
                  "tags": {"type": "array", "items": {"type": "string"}, "maxItems": 3}, "maybe": {"type": "integer", "format": "int32"}},
                 "required": ["tags"]}"""), Json.parse(Json.write(Json.schema(Limits.class))));
    }

    @Test
    void readsOptionalComponents() {
        assertEquals(Optional.of(3), Json.read("{\"tags\": [], \"maybe\": 3}", Limits.class).maybe());
        assertEquals(Optional.empty(), Json.read("{\"tags\": []}", Limits.class).maybe());
    }

    record Many(
            String[] texts, int[] numbers, int[][] grid, Point[] points, List<String>[] lists, char letter, Character other, BigInteger big, BigDecimal exact,
            ArrayList<Point> list, SequencedSet<Integer> set, HashMap<Color, Point> byColor, Map<Integer, String> byNumber, short small, char missing, boolean not) {}

    @Test
    void readsEveryTypeWithASchema() {
        Json.schema(Many.class);
        String text = """
                {"texts":["a","b"],"numbers":[1,2],"grid":[[1],[]],"points":[{"x":1,"y":2}],"lists":[["c"]],"letter":"x","other":"é",\
                "big":123456789012345678901234567890,"exact":1.5,"list":[{"x":3,"y":4}],"set":[2,1],"byColor":{"RED":{"x":5,"y":6}},"byNumber":{"7":"seven"},"small":8}""";
        Many many = Json.read(text, Many.class);
        assertEquals(List.of("a", "b"), List.of(many.texts()));
        assertEquals(3, many.numbers()[0] + many.numbers()[1]);
        assertEquals(1, many.grid()[0][0]);
        assertEquals(new Point(1, 2), many.points()[0]);
        assertEquals("c", many.lists()[0].get(0));
        assertEquals('é', many.other());
        assertEquals(new BigDecimal("1.5"), many.exact());
        assertEquals(new Point(3, 4), many.list().get(0));
        assertEquals(2, many.set().getFirst());
        assertEquals(new Point(5, 6), many.byColor().get(Color.RED));
        assertEquals("seven", many.byNumber().get(7));
        assertEquals('\0', many.missing());
        assertEquals(text.substring(0, text.length() - 1) + ",\"missing\":\"\\u0000\",\"not\":false}", Json.write(many));
        assertEquals(BigInteger.TWO, Json.read("2", BigInteger.class));
        JsonException e = assertThrows(JsonException.class, () -> Json.read("{\"letter\":\"xy\"}", Many.class));
        assertEquals("the value of letter must be a text of one character, not \"xy\"", e.getMessage());
        e = assertThrows(JsonException.class, () -> Json.read("{\"byNumber\":{\"x\":\"\"}}", Many.class));
        assertEquals("the name byNumber.x must be a whole number", e.getMessage());
        e = assertThrows(JsonException.class, () -> Json.read("{\"points\":[{},{\"x\":true}]}", Many.class));
        assertEquals("the value of points[1].x must be a number that fits int, not true", e.getMessage());
    }

    record Queued(java.util.PriorityQueue<String> queue) {}

    @Test
    void refusesOtherCollections() {
        JsonException e = assertThrows(JsonException.class, () -> Json.read("{\"queue\":[]}", Queued.class));
        assertEquals("the value of queue cannot be a java.util.PriorityQueue<java.lang.String>", e.getMessage());
    }

    record Tree(List<Tree> children) {}

    record Wrong(@JsonSchema(defaultValue = "text") String name) {}

    record Odd(Thread thread) {}

    @ParameterizedTest
    @ValueSource(classes = {Tree.class, Wrong.class, Odd.class})
    void refusesTypesWithoutSchema(Class<?> type) {
        String text = assertThrows(JsonException.class, () -> Json.schema(type)).getMessage();
        assertTrue(text.contains(type == Odd.class ? "java.lang.Thread" : type.getName()), text);
    }
}
