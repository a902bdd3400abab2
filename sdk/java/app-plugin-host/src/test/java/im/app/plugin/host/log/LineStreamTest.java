// SPDX-License-Identifier: Apache-2.0

package im.app.plugin.host.log;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.junit.jupiter.api.Test;

/** Tests the lines that plugins print. */
class LineStreamTest {
    private final List<String> lines = new ArrayList<>();
    private final PrintStream out = LineStream.printing((module, level, logger, message, thrown) -> lines.add(message), Log.INFO, "test");

    @Test
    void splitsOutputIntoLines() {
        out.print("one\ntwo\r\n\n  \nthr");
        assertEquals(List.of("one", "two"), lines);
        out.print("ee\n");
        assertEquals(List.of("one", "two", "three"), lines);
        out.print("rest");
        out.flush();
        assertEquals("rest", lines.getLast());
    }

    @Test
    void splitsLongLinesBetweenCharacters() {
        for (String character : List.of("x", "é", "€", "😀")) {
            for (int size : new int[] {7, 61, 1023, 4095, 100_000}) {
                lines.clear();
                // The letter at the beginning shifts the positions of the other characters.
                String text = "x".repeat(size % 4) + character.repeat(50_000);
                byte[] all = text.getBytes(StandardCharsets.UTF_8);
                for (int i = 0; i < all.length; i += size) {
                    out.write(all, i, Math.min(size, all.length - i));
                }
                out.println();
                assertEquals(text, String.join("", lines), character + " in writes of " + size + " bytes");
                assertTrue(lines.size() > 1 || size == 100_000, "the line was not split");
            }
        }
    }

    @Test
    void acceptsOutputThatIsNotText() {
        byte[] binary = new byte[40_000];
        for (int b : new int[] {0x80, 0xC0, 0xF0, 0xFF}) {
            Arrays.fill(binary, (byte) b);
            out.write(binary, 0, binary.length);
            out.println();
        }
        assertTrue(lines.size() >= 4, () -> lines.size() + " lines");
    }
}
