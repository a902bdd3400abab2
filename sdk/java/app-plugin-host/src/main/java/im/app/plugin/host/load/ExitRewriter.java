// SPDX-License-Identifier: Apache-2.0

package im.app.plugin.host.load;

import static im.app.plugin.host.load.ClassBytes.u1;
import static im.app.plugin.host.load.ClassBytes.u2;

import java.nio.charset.StandardCharsets;
import java.util.Arrays;

/**
 * Lets a class call {@link im.app.plugin.host.guard.Exits#exit} in the place of {@link System#exit}. Only the constants of
 * the class are changed.
 */
final class ExitRewriter {
    private static final byte[] SYSTEM = ascii("java/lang/System");
    private static final byte[] EXIT = ascii("exit");
    private static final byte[] TYPE = ascii("(I)V");
    private static final byte[] GUARD = ascii("im/app/plugin/host/guard/Exits");

    private ExitRewriter() {}

    private static byte[] ascii(String s) {
        return s.getBytes(StandardCharsets.US_ASCII);
    }

    /**
     * Rewrites a class.
     *
     * @param in the class
     * @return the changed class; the same array if it does not call {@link System#exit} or is no whole class
     */
    static byte[] rewrite(byte[] in) {
        try {
            return rewriteConstants(in);
        } catch (IndexOutOfBoundsException e) {
            return in; // The virtual machine says what is wrong with it.
        }
    }

    private static byte[] rewriteConstants(byte[] in) {
        int n = u2(in, 8);
        int[] constants = new int[n];
        int at = 10;
        for (int i = 1; i < n; i++) {
            constants[i] = at;
            int tag = u1(in, at);
            switch (tag) {
                case 1 -> at += 3 + u2(in, at + 1);
                case 7, 8, 16, 19, 20 -> at += 3;
                case 15 -> at += 4;
                case 3, 4, 9, 10, 11, 12, 17, 18 -> at += 5;
                case 5, 6 -> {
                    at += 9;
                    i++;
                }
                default -> {
                    return in;
                }
            }
        }
        byte[] out = null;
        for (int p : constants) {
            if (p == 0 || u1(in, p) != 10 || !calls(in, constants, p)) {
                continue;
            }
            if (n + 2 > 0xffff) {
                return in;
            }
            if (out == null) {
                out = extend(in, n, at);
            }
            put(out, p + 1, n + 1);
        }
        return out == null ? in : out;
    }

    /** Reports whether the method at a place is System.exit. */
    private static boolean calls(byte[] in, int[] constants, int method) {
        int type = constants[u2(in, method + 1)];
        int nameAndType = constants[u2(in, method + 3)];
        return is(in, constants[u2(in, type + 1)], SYSTEM) && is(in, constants[u2(in, nameAndType + 1)], EXIT)
                && is(in, constants[u2(in, nameAndType + 3)], TYPE);
    }

    private static boolean is(byte[] in, int utf8, byte[] text) {
        return u1(in, utf8) == 1 && u2(in, utf8 + 1) == text.length && Arrays.equals(in, utf8 + 3, utf8 + 3 + text.length, text, 0, text.length);
    }

    /** Copies a class whose constants end at a place, with the class of the guard as its last constant. */
    private static byte[] extend(byte[] in, int n, int end) {
        int more = 3 + GUARD.length + 3;
        byte[] out = new byte[in.length + more];
        System.arraycopy(in, 0, out, 0, end);
        put(out, 8, n + 2);
        out[end] = 1;
        put(out, end + 1, GUARD.length);
        System.arraycopy(GUARD, 0, out, end + 3, GUARD.length);
        out[end + 3 + GUARD.length] = 7;
        put(out, end + 4 + GUARD.length, n);
        System.arraycopy(in, end, out, end + more, in.length - end);
        return out;
    }

    private static void put(byte[] b, int at, int value) {
        b[at] = (byte) (value >> 8);
        b[at + 1] = (byte) value;
    }
}
