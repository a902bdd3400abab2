// SPDX-License-Identifier: Apache-2.0

package im.app.plugin.host.log;

import im.app.plugin.host.wire.ShortLock;
import im.app.plugin.host.wire.StackRoom;
import java.io.ByteArrayOutputStream;
import java.io.OutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.HashMap;
import java.util.Map;

/** Splits the output of plugins into lines. Each plugin has its own unfinished line. */
public final class LineStream extends OutputStream {
    /** The maximum length of a line; longer ones are split. */
    private static final int LONGEST = 16 << 10;

    private final Log log;
    private final int level;
    private final String name;
    private final ShortLock lock = new ShortLock();
    private final Map<Integer, ByteArrayOutputStream> unfinished = new HashMap<>();

    private LineStream(Log log, int level, String name) {
        this.log = log;
        this.level = level;
        this.name = name;
    }

    /**
     * Returns a stream whose lines are logged.
     *
     * @param log the log
     * @param level the level of the lines
     * @param name the logger name of the lines
     * @return the stream
     */
    public static PrintStream printing(Log log, int level, String name) {
        // A subclass of PrintStream locks with a monitor, which tolerates a stack overflow while
        // waiting; see ShortLock.
        return new PrintStream(new LineStream(log, level, name), false, StandardCharsets.UTF_8) {};
    }

    @Override
    public void write(int b) {
        write(new byte[] {(byte) b}, 0, 1);
    }

    @Override
    public void write(byte[] b, int from, int n) {
        StackRoom.ensure();
        int module = Callers.module();
        String lines = take(module, b, from, n);
        if (lines != null) {
            // The lock is not held here, because the log may wait for the server.
            lines.lines().filter(l -> !l.isBlank()).forEach(l -> log.write(module, level, name, l, null));
        }
    }

    /** Writes the unfinished line of the calling plugin. */
    @Override
    public void flush() {
        StackRoom.ensure();
        int module = Callers.module();
        ByteArrayOutputStream line;
        lock.lock();
        try {
            line = unfinished.remove(module);
        } finally {
            lock.unlock();
        }
        if (line != null && line.size() > 0) {
            log.write(module, level, name, line.toString(StandardCharsets.UTF_8), null);
        }
    }

    /**
     * Adds bytes to the line of a plugin. Removes and returns complete lines; returns null if there
     * are none.
     */
    private String take(int module, byte[] b, int from, int n) {
        lock.lock();
        try {
            ByteArrayOutputStream line = unfinished.computeIfAbsent(module, m -> new ByteArrayOutputStream());
            int end = from + n;
            int last = end;
            while (last > from && b[last - 1] != '\n') {
                last--;
            }
            if (last == from && line.size() + n < LONGEST) {
                line.write(b, from, n);
                return null;
            }
            if (last == from) {
                line.write(b, from, n);
                return takeCharacters(module, line);
            }
            line.write(b, from, last - from);
            String whole = line.toString(StandardCharsets.UTF_8);
            line.reset();
            line.write(b, last, end - last);
            if (line.size() == 0) {
                unfinished.remove(module);
            }
            return whole;
        } finally {
            lock.unlock();
        }
    }

    /** Removes and returns the complete characters of a line that is too long. */
    private String takeCharacters(int module, ByteArrayOutputStream line) {
        byte[] all = line.toByteArray();
        int whole = wholeCharacters(all);
        if (whole == all.length) {
            unfinished.remove(module);
        } else {
            line.reset();
            line.write(all, whole, all.length - whole);
        }
        return new String(all, 0, whole, StandardCharsets.UTF_8);
    }

    /** Returns the number of bytes without an incomplete last character in UTF-8. */
    private static int wholeCharacters(byte[] b) {
        int first = b.length - 1;
        while (first > 0 && b.length - first < 4 && (b[first] & 0xC0) == 0x80) {
            first--;
        }
        int length = switch (Integer.numberOfLeadingZeros(~b[first] << 24)) {
            case 2 -> 2;
            case 3 -> 3;
            case 4 -> 4;
            default -> 1;
        };
        return first + length > b.length ? first : b.length;
    }
}
