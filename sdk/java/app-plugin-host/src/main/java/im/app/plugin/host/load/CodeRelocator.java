// SPDX-License-Identifier: Apache-2.0

package im.app.plugin.host.load;

import static im.app.plugin.host.load.ClassBytes.s2;
import static im.app.plugin.host.load.ClassBytes.s4;
import static im.app.plugin.host.load.ClassBytes.u1;

import im.app.plugin.host.load.MonitorRewriter.Unsuitable;
import java.util.Arrays;

/**
 * The instructions of one method with a check before every {@code monitorenter}: knows where each instruction is moved,
 * and writes them with the jumps between them set right. Who jumps to a {@code monitorenter} gets to its check.
 */
final class CodeRelocator {
    private static final int DUP = 0x59;
    private static final int GOTO = 0xa7;
    private static final int JSR = 0xa8;
    private static final int TABLESWITCH = 0xaa;
    private static final int LOOKUPSWITCH = 0xab;
    private static final int INVOKESTATIC = 0xb8;
    private static final int MONITORENTER = 0xc2;
    private static final int WIDE = 0xc4;
    private static final int IFNULL = 0xc6;
    private static final int GOTO_W = 0xc8;
    private static final int JSR_W = 0xc9;

    /** The size of the inserted instructions. */
    private static final int CHECK = 4;

    /** The sizes of instructions by their opcodes; 0 are those whose size depends, and unknown ones. */
    private static final byte[] SIZES = new byte[256];

    static {
        Arrays.fill(SIZES, 0, 0xca, (byte) 1);
        sizes(2, 0x10, 0x12, 0x15, 0x16, 0x17, 0x18, 0x19, 0x36, 0x37, 0x38, 0x39, 0x3a, 0xa9, 0xbc);
        sizes(3, 0x11, 0x13, 0x14, 0x84, 0xbb, 0xbd, 0xc0, 0xc1, 0xc6, 0xc7);
        for (int op = 0x99; op <= 0xa8; op++) {
            SIZES[op] = 3;
        }
        for (int op = 0xb2; op <= 0xb8; op++) {
            SIZES[op] = 3;
        }
        sizes(4, 0xc5);
        sizes(5, 0xb9, 0xba, GOTO_W, JSR_W);
        sizes(0, TABLESWITCH, LOOKUPSWITCH, WIDE);
    }

    private static void sizes(int size, int... opcodes) {
        for (int op : opcodes) {
            SIZES[op] = (byte) size;
        }
    }

    private final byte[] in;
    private final int from;
    private final int length;
    private final int check;
    /** The new place of each instruction, -1 where none begins, and of the end. */
    private final int[] places;
    /** The jumps that get too long for their 16 bits and have a form with 32. */
    private final boolean[] widened;
    private int newLength;

    /**
     * Finds the places.
     *
     * @param check the constant of the method that is called as the check
     */
    CodeRelocator(byte[] in, int from, int length, int check) throws Unsuitable {
        this.in = in;
        this.from = from;
        this.length = length;
        this.check = check;
        places = new int[length + 1];
        widened = new boolean[length];
        do {
            arrange();
            if (newLength > 0xffff) {
                throw new Unsuitable("a method gets longer than 65535 bytes");
            }
        } while (widen());
    }

    /** Tells the size of the instruction at pc of the code that begins at from. */
    static int size(byte[] in, int from, int pc) throws Unsuitable {
        int at = from + pc;
        int op = u1(in, at);
        int size = SIZES[op];
        if (size > 0) {
            return size;
        }
        return switch (op) {
            case WIDE -> u1(in, at + 1) == 0x84 ? 6 : 4;
            case TABLESWITCH -> {
                int pad = padding(pc);
                yield switchSize(1 + pad + 12, (long) s4(in, at + 1 + pad + 8) - s4(in, at + 1 + pad + 4) + 1, 4);
            }
            case LOOKUPSWITCH -> {
                int pad = padding(pc);
                yield switchSize(1 + pad + 8, s4(in, at + 1 + pad + 4), 8);
            }
            default -> throw new Unsuitable("it has the unknown instruction " + op);
        };
    }

    private static int switchSize(int head, long entries, int each) throws Unsuitable {
        if (entries < 0 || entries > 0xffff) {
            throw new Unsuitable("it has a switch with " + entries + " entries");
        }
        return head + (int) entries * each;
    }

    private static int padding(int pc) {
        return 3 - pc % 4;
    }

    private static boolean isSwitch(int op) {
        return op == TABLESWITCH || op == LOOKUPSWITCH;
    }

    private static boolean isShortJump(int op) {
        return op >= 0x99 && op <= JSR || op == IFNULL || op == IFNULL + 1;
    }

    private void arrange() throws Unsuitable {
        Arrays.fill(places, -1);
        int place = 0;
        for (int pc = 0; pc < length;) {
            places[pc] = place;
            int op = u1(in, from + pc);
            int size = size(in, from, pc);
            place += size;
            if (op == MONITORENTER) {
                place += CHECK;
            } else if (isSwitch(op)) {
                place += padding(places[pc]) - padding(pc);
            } else if (widened[pc]) {
                place += 2;
            }
            pc += size;
            if (pc > length) {
                throw new Unsuitable("its last instruction is cut off");
            }
        }
        places[length] = place;
        newLength = place;
    }

    /** Marks the jumps that do not fit any more, and reports whether there are new ones. */
    private boolean widen() throws Unsuitable {
        boolean any = false;
        for (int pc = 0; pc < length; pc += size(in, from, pc)) {
            int op = u1(in, from + pc);
            if (!isShortJump(op) || widened[pc]) {
                continue;
            }
            int distance = place(pc + s2(in, from + pc + 1)) - places[pc];
            if (distance == (short) distance) {
                continue;
            }
            if (op != GOTO && op != JSR) {
                throw new Unsuitable("a method has a branch that gets too long");
            }
            widened[pc] = true;
            any = true;
        }
        return any;
    }

    /** Tells the new place of an instruction, or of the end. */
    int place(int pc) throws Unsuitable {
        if (pc < 0 || pc > length || places[pc] < 0) {
            throw new Unsuitable("it refers to byte " + pc + " of a method, where no instruction begins");
        }
        return places[pc];
    }

    /** Writes the length of the code and the code. */
    void writeCode(ClassBytes out) throws Unsuitable {
        out.u4(newLength);
        int start = out.size;
        for (int pc = 0; pc < length;) {
            int at = from + pc;
            int op = u1(in, at);
            int size = size(in, from, pc);
            if (op == MONITORENTER) {
                out.u1(DUP);
                out.u1(INVOKESTATIC);
                out.u2(check);
                out.u1(op);
            } else if (isShortJump(op)) {
                int distance = place(pc + s2(in, at + 1)) - places[pc];
                if (widened[pc]) {
                    out.u1(op == GOTO ? GOTO_W : JSR_W);
                    out.u4(distance);
                } else {
                    out.u1(op);
                    out.u2(distance);
                }
            } else if (op == GOTO_W || op == JSR_W) {
                out.u1(op);
                out.u4(place(pc + s4(in, at + 1)) - places[pc]);
            } else if (isSwitch(op)) {
                writeSwitch(out, pc, op, size);
            } else {
                out.put(in, at, size);
            }
            pc += size;
        }
        if (out.size - start != newLength) {
            throw new Unsuitable("a method got " + (out.size - start) + " bytes instead of " + newLength);
        }
    }

    private void writeSwitch(ClassBytes out, int pc, int op, int size) throws Unsuitable {
        out.u1(op);
        for (int i = padding(places[pc]); i > 0; i--) {
            out.u1(0);
        }
        int at = from + pc + 1 + padding(pc);
        int end = from + pc + size;
        target(out, pc, at);
        if (op == TABLESWITCH) {
            out.put(in, at + 4, 8);
            for (at += 12; at < end; at += 4) {
                target(out, pc, at);
            }
        } else {
            out.put(in, at + 4, 4);
            for (at += 8; at < end; at += 8) {
                out.put(in, at, 4);
                target(out, pc, at + 4);
            }
        }
    }

    private void target(ClassBytes out, int pc, int at) throws Unsuitable {
        out.u4(place(pc + s4(in, at)) - places[pc]);
    }
}
