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

/** Cuts what plugins print into lines. Each plugin has an unfinished line of its own. */
public final class LineStream extends OutputStream {
    /** A line that gets longer than this is cut. */
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
     * Makes a stream whose lines go to the log.
     *
     * @param log the log
     * @param level the level of the lines
     * @param name what the log has as the name of their logger
     * @return the stream
     */
    public static PrintStream printing(Log log, int level, String name) {
        // A subclass locks with a monitor, which bears a stack that overflows while it waits; see ShortLock.
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
            // The lock is not held here: the log may wait for the server.
            lines.lines().filter(l -> !l.isBlank()).forEach(l -> log.write(module, level, name, l, null));
        }
    }

    /** Writes what a plugin has begun to print, for plugins that ask for that. */
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

    /** Adds bytes to the line of a plugin, and takes what is whole. */
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
                last = end;
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
}
