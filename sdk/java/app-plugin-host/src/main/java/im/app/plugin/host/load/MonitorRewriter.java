// SPDX-License-Identifier: Apache-2.0

package im.app.plugin.host.load;

import static im.app.plugin.host.load.ClassBytes.s4;
import static im.app.plugin.host.load.ClassBytes.u1;
import static im.app.plugin.host.load.ClassBytes.u2;

import java.nio.charset.StandardCharsets;
import java.util.Arrays;

/**
 * Puts a check before every {@code monitorenter} of a class: a duplicate of the reference and a call of
 * {@link im.app.plugin.host.guard.Monitors#check}. Everything else of the class stays as it is, byte by byte, but for
 * what depends on the places of instructions.
 */
final class MonitorRewriter {
    private static final String GUARD = "im/app/plugin/host/guard/Monitors";
    private static final int UTF8 = 1;
    private static final int CLASS = 7;
    private static final int METHOD = 10;
    private static final int NAME_AND_TYPE = 12;
    private static final int MONITORENTER = 0xc2;

    /** The class cannot be rewritten; it may be fine nevertheless. */
    static final class Unsuitable extends Exception {
        private static final long serialVersionUID = 1L;

        Unsuitable(String message) {
            super(message, null, false, false);
        }
    }

    private final byte[] in;
    private final ClassBytes out;
    /** The place of each constant in the class, at its tag. */
    private int[] constants;
    private int at;
    private int check;

    private MonitorRewriter(byte[] in) {
        this.in = in;
        this.out = new ClassBytes(in.length + 256);
    }

    /**
     * Rewrites a class.
     *
     * @param bytes the class
     * @return the class with the checks; the same array if it has no {@code monitorenter}
     * @throws Unsuitable with the reason, if it cannot be done
     */
    static byte[] rewrite(byte[] bytes) throws Unsuitable {
        if (!mayLock(bytes)) {
            return bytes;
        }
        try {
            return new MonitorRewriter(bytes).run();
        } catch (IndexOutOfBoundsException | NegativeArraySizeException e) {
            throw new Unsuitable("it is not a whole class file");
        }
    }

    /** A quick look that spares most classes the rest: without the byte there is no such instruction. */
    private static boolean mayLock(byte[] bytes) {
        for (byte b : bytes) {
            if (b == (byte) MONITORENTER) {
                return true;
            }
        }
        return false;
    }

    private byte[] run() throws Unsuitable {
        if (in.length < 10 || s4(in, 0) != 0xcafebabe) {
            throw new Unsuitable("it is not a class file");
        }
        readConstants();
        out.put(in, at, 6);
        int interfaces = u2(in, at + 6);
        out.put(in, at + 6, 2 + 2 * interfaces);
        at += 8 + 2 * interfaces;
        int changed = members(false) + members(true);
        if (changed == 0) {
            return in;
        }
        out.put(in, at, in.length - at);
        return out.toByteArray();
    }

    private void readConstants() throws Unsuitable {
        int n = u2(in, 8);
        constants = new int[n];
        at = 10;
        for (int i = 1; i < n; i++) {
            constants[i] = at;
            int tag = u1(in, at);
            at += switch (tag) {
                case UTF8 -> 3 + u2(in, at + 1);
                case CLASS, 8, 16, 19, 20 -> 3;
                case 15 -> 4;
                case 3, 4, 9, METHOD, 11, NAME_AND_TYPE, 17, 18 -> 5;
                case 5, 6 -> {
                    i++;
                    yield 9;
                }
                default -> throw new Unsuitable("it has a constant of the unknown kind " + tag);
            };
        }
        if (n + 6 > 0xffff) {
            throw new Unsuitable("it has " + n + " constants, so that no more fit");
        }
        out.put(in, 0, 8);
        out.u2(n + 6);
        out.put(in, 10, at - 10);
        utf8(GUARD);
        out.u1(CLASS);
        out.u2(n);
        utf8("check");
        utf8("(Ljava/lang/Object;)V");
        out.u1(NAME_AND_TYPE);
        out.u2(n + 2);
        out.u2(n + 3);
        out.u1(METHOD);
        out.u2(n + 1);
        out.u2(n + 4);
        check = n + 5;
    }

    private void utf8(String ascii) {
        byte[] b = ascii.getBytes(StandardCharsets.US_ASCII);
        out.u1(UTF8);
        out.u2(b.length);
        out.put(b, 0, b.length);
    }

    private boolean is(int constant, byte[] name) {
        int p = constants[constant];
        return u1(in, p) == UTF8 && u2(in, p + 1) == name.length
                && Arrays.equals(in, p + 3, p + 3 + name.length, name, 0, name.length);
    }

    private static final byte[] CODE = "Code".getBytes(StandardCharsets.US_ASCII);

    /** Copies fields or methods, and reports how many of them were changed. */
    private int members(boolean methods) throws Unsuitable {
        int changed = 0;
        int n = u2(in, at);
        out.put(in, at, 2);
        at += 2;
        for (int i = 0; i < n; i++) {
            int attributes = u2(in, at + 6);
            out.put(in, at, 8);
            at += 8;
            for (int j = 0; j < attributes; j++) {
                int name = u2(in, at);
                int size = s4(in, at + 2);
                if (methods && is(name, CODE) && hasMonitorEnter(at + 6)) {
                    changed++;
                    code(at + 6);
                } else {
                    out.put(in, at, 6 + size);
                }
                at += 6 + size;
            }
        }
        return changed;
    }

    private boolean hasMonitorEnter(int code) throws Unsuitable {
        int length = s4(in, code + 4);
        for (int pc = 0; pc < length; pc += CodeRelocator.size(in, code + 8, pc)) {
            if (u1(in, code + 8 + pc) == MONITORENTER) {
                return true;
            }
        }
        return false;
    }

    /** Writes a Code attribute with the checks. */
    private void code(int from) throws Unsuitable {
        int maxStack = u2(in, from);
        if (maxStack == 0xffff) {
            throw new Unsuitable("a method needs the largest stack");
        }
        int length = s4(in, from + 4);
        if (length < 0 || length > 0xffff) {
            throw new Unsuitable("a method is longer than 65535 bytes");
        }
        CodeRelocator relocator = new CodeRelocator(in, from + 8, length, check);
        out.put(in, at, 2);
        int start = out.size;
        out.u4(0);
        out.u2(maxStack + 1);
        out.put(in, from + 2, 2);
        relocator.writeCode(out);
        int p = from + 8 + length;
        int handlers = u2(in, p);
        out.u2(handlers);
        p += 2;
        for (int i = 0; i < handlers; i++, p += 8) {
            out.u2(relocator.place(u2(in, p)));
            out.u2(relocator.place(u2(in, p + 2)));
            out.u2(relocator.place(u2(in, p + 4)));
            out.put(in, p + 6, 2);
        }
        int attributes = u2(in, p);
        p += 2;
        int count = out.size;
        out.u2(0);
        int kept = 0;
        for (int i = 0; i < attributes; i++) {
            int size = s4(in, p + 2);
            if (attribute(relocator, p, size)) {
                kept++;
            }
            p += 6 + size;
        }
        out.data[count] = (byte) (kept >> 8);
        out.data[count + 1] = (byte) kept;
        out.setU4(start, out.size - start - 4);
    }

    private static final byte[] STACK_MAP = "StackMapTable".getBytes(StandardCharsets.US_ASCII);
    private static final byte[] LINES = "LineNumberTable".getBytes(StandardCharsets.US_ASCII);
    private static final byte[] VARIABLES = "LocalVariableTable".getBytes(StandardCharsets.US_ASCII);
    private static final byte[] TYPES = "LocalVariableTypeTable".getBytes(StandardCharsets.US_ASCII);

    /** Writes an attribute of a Code attribute. Those that nothing reads at run time are left out. */
    private boolean attribute(CodeRelocator relocator, int p, int size) throws Unsuitable {
        int name = u2(in, p);
        boolean stackMap = is(name, STACK_MAP);
        boolean lines = is(name, LINES);
        if (!stackMap && !lines && !is(name, VARIABLES) && !is(name, TYPES)) {
            return false;
        }
        out.u2(name);
        int start = out.size;
        out.u4(0);
        if (stackMap) {
            new StackMapRelocator(relocator, in, p + 6).write(out);
        } else {
            int n = u2(in, p + 6);
            out.u2(n);
            int q = p + 8;
            for (int i = 0; i < n; i++) {
                int pc = u2(in, q);
                int place = relocator.place(pc);
                out.u2(place);
                if (lines) {
                    out.put(in, q + 2, 2);
                    q += 4;
                } else {
                    out.u2(relocator.place(pc + u2(in, q + 2)) - place);
                    out.put(in, q + 4, 6);
                    q += 10;
                }
            }
        }
        out.setU4(start, out.size - start - 4);
        return true;
    }
}
