// SPDX-License-Identifier: Apache-2.0

package im.app.plugin.host.load;

import static im.app.plugin.host.load.ClassBytes.s4;
import static im.app.plugin.host.load.ClassBytes.u1;
import static im.app.plugin.host.load.ClassBytes.u2;

import java.nio.charset.StandardCharsets;
import java.util.Arrays;

/**
 * Lets a class call {@link im.app.plugin.host.guard.Exits} in the place of {@link System#exit}, {@link Runtime#exit} and
 * {@link Runtime#halt}. Of the code of the class only the kind of these calls is changed, so that nothing moves.
 */
final class ExitRewriter {
    private static final byte[] SYSTEM = ascii("java/lang/System");
    private static final byte[] RUNTIME = ascii("java/lang/Runtime");
    private static final byte[] EXIT = ascii("exit");
    private static final byte[] HALT = ascii("halt");
    private static final byte[] TYPE = ascii("(I)V");
    private static final byte[] GUARD = ascii("im/app/plugin/host/guard/Exits");
    private static final byte[] GUARD_TYPE = ascii("(Ljava/lang/Runtime;I)V");
    private static final byte[] CODE = ascii("Code");

    private static final int UTF8 = 1;
    private static final int CLASS = 7;
    private static final int METHOD = 10;
    private static final int NAME_AND_TYPE = 12;
    private static final int HANDLE = 15;
    private static final int INVOKEVIRTUAL = 0xb6;
    private static final int INVOKESTATIC = 0xb8;
    /** The same two in a method handle. */
    private static final int HANDLE_VIRTUAL = 5;

    private static final int HANDLE_STATIC = 6;

    /** How many constants are added: the class, the type, and the two methods with it. */
    private static final int ADDED = 7;

    private final byte[] in;
    private final int[] constants;
    /** Where the constants end. */
    private int end;

    private ExitRewriter(byte[] in) {
        this.in = in;
        this.constants = new int[u2(in, 8)];
    }

    private static byte[] ascii(String s) {
        return s.getBytes(StandardCharsets.US_ASCII);
    }

    /**
     * Rewrites a class.
     *
     * @param in the class
     * @return the changed class; the same array if it does not call any of these methods or is no whole class
     */
    static byte[] rewrite(byte[] in) {
        try {
            ExitRewriter r = new ExitRewriter(in);
            return r.readConstants() ? r.run() : in;
        } catch (IndexOutOfBoundsException | MonitorRewriter.Unsuitable e) {
            return in; // The virtual machine says what is wrong with it.
        }
    }

    private boolean readConstants() {
        int at = 10;
        for (int i = 1; i < constants.length; i++) {
            constants[i] = at;
            int tag = u1(in, at);
            switch (tag) {
                case UTF8 -> at += 3 + u2(in, at + 1);
                case CLASS, 8, 16, 19, 20 -> at += 3;
                case HANDLE -> at += 4;
                case 3, 4, 9, METHOD, 11, NAME_AND_TYPE, 17, 18 -> at += 5;
                case 5, 6 -> {
                    at += 9;
                    i++;
                }
                default -> {
                    return false;
                }
            }
        }
        end = at;
        return constants.length + ADDED <= 0xffff;
    }

    private byte[] run() throws MonitorRewriter.Unsuitable {
        int n = constants.length;
        byte[] out = null;
        boolean[] virtual = new boolean[n];
        boolean any = false;
        for (int i = 1; i < n; i++) {
            int p = constants[i];
            if (p == 0 || u1(in, p) != METHOD) {
                continue;
            }
            boolean exit = calls(p, RUNTIME, EXIT);
            boolean halt = calls(p, RUNTIME, HALT);
            if (!exit && !halt && !calls(p, SYSTEM, EXIT)) {
                continue;
            }
            if (out == null) {
                out = extend();
            }
            put(out, p + 1, n + 1);
            if (exit || halt) {
                virtual[i] = true;
                any = true;
                put(out, p + 3, exit ? n + 5 : n + 6);
            }
        }
        if (out == null) {
            return in;
        }
        if (any) {
            handles(out, virtual);
            methods(out, virtual);
        }
        return out;
    }

    /** Reports whether the method at a place is a certain one that takes a status. */
    private boolean calls(int method, byte[] type, byte[] name) {
        int c = constants[u2(in, method + 1)];
        int nameAndType = constants[u2(in, method + 3)];
        return is(constants[u2(in, c + 1)], type) && is(constants[u2(in, nameAndType + 1)], name)
                && is(constants[u2(in, nameAndType + 3)], TYPE);
    }

    private boolean is(int utf8, byte[] text) {
        return u1(in, utf8) == UTF8 && u2(in, utf8 + 1) == text.length
                && Arrays.equals(in, utf8 + 3, utf8 + 3 + text.length, text, 0, text.length);
    }

    /** Copies the class, with what is added to its constants. */
    private byte[] extend() {
        int n = constants.length;
        ClassBytes out = new ClassBytes(in.length + 128);
        out.put(in, 0, 8);
        out.u2(n + ADDED);
        out.put(in, 10, end - 10);
        utf8(out, GUARD);
        out.u1(CLASS);
        out.u2(n);
        utf8(out, GUARD_TYPE);
        utf8(out, EXIT);
        utf8(out, HALT);
        for (int name = n + 3; name <= n + 4; name++) {
            out.u1(NAME_AND_TYPE);
            out.u2(name);
            out.u2(n + 2);
        }
        out.put(in, end, in.length - end);
        return out.toByteArray();
    }

    private static void utf8(ClassBytes out, byte[] text) {
        out.u1(UTF8);
        out.u2(text.length);
        out.put(text, 0, text.length);
    }

    /** Lets handles of the methods be handles of static ones. */
    private void handles(byte[] out, boolean[] virtual) {
        for (int p : constants) {
            if (p != 0 && u1(in, p) == HANDLE && u1(in, p + 1) == HANDLE_VIRTUAL && virtual[u2(in, p + 2)]) {
                out[p + 1] = HANDLE_STATIC;
            }
        }
    }

    /** Lets calls of the methods be calls of static ones, which take the same from the stack. */
    private void methods(byte[] out, boolean[] virtual) throws MonitorRewriter.Unsuitable {
        int moved = out.length - in.length;
        int at = end + 8 + 2 * u2(in, end + 6);
        for (boolean methods : new boolean[] {false, true}) {
            int members = u2(in, at);
            at += 2;
            for (int i = 0; i < members; i++) {
                int attributes = u2(in, at + 6);
                at += 8;
                for (int j = 0; j < attributes; j++) {
                    if (methods && is(constants[u2(in, at)], CODE)) {
                        code(out, moved, at + 14, s4(in, at + 10), virtual);
                    }
                    at += 6 + s4(in, at + 2);
                }
            }
        }
    }

    private void code(byte[] out, int moved, int from, int length, boolean[] virtual) throws MonitorRewriter.Unsuitable {
        for (int pc = 0; pc < length; pc += CodeRelocator.size(in, from, pc)) {
            int p = from + pc;
            if (u1(in, p) == INVOKEVIRTUAL && virtual[u2(in, p + 1)]) {
                out[p + moved] = (byte) INVOKESTATIC;
            }
        }
    }

    private static void put(byte[] b, int at, int value) {
        b[at] = (byte) (value >> 8);
        b[at + 1] = (byte) value;
    }
}
