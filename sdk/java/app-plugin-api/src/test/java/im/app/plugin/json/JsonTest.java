// SPDX-License-Identifier: Apache-2.0

package im.app.plugin.json;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.math.BigInteger;
import java.time.Instant;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
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
