// SPDX-License-Identifier: Apache-2.0

package im.app.plugin.json;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.math.BigInteger;
import java.time.Instant;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
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
}
