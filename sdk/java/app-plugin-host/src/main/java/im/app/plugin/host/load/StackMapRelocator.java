// SPDX-License-Identifier: Apache-2.0

package im.app.plugin.host.load;

import static im.app.plugin.host.load.ClassBytes.u1;
import static im.app.plugin.host.load.ClassBytes.u2;

import im.app.plugin.host.load.MonitorRewriter.Unsuitable;

/** The table of stack map frames of a method whose instructions moved. What the frames say stays; where they are does not. */
final class StackMapRelocator {
    private static final int SAME_LOCALS_1 = 64;
    private static final int SAME_LOCALS_1_EXTENDED = 247;
    private static final int SAME_EXTENDED = 251;
    private static final int FULL = 255;
    private static final int OBJECT = 7;
    private static final int UNINITIALIZED = 8;

    private final CodeRelocator code;
    private final byte[] in;
    private int at;

    StackMapRelocator(CodeRelocator code, byte[] in, int at) {
        this.code = code;
        this.in = in;
        this.at = at;
    }

    void write(ClassBytes out) throws Unsuitable {
        int n = u2(in, at);
        out.u2(n);
        at += 2;
        int pc = -1;
        int place = -1;
        for (int i = 0; i < n; i++) {
            int tag = u1(in, at++);
            int delta;
            if (tag < SAME_LOCALS_1) {
                delta = tag;
            } else if (tag < 128) {
                delta = tag - SAME_LOCALS_1;
            } else if (tag < SAME_LOCALS_1_EXTENDED) {
                throw new Unsuitable("it has a stack map frame of the unknown kind " + tag);
            } else {
                delta = u2(in, at);
                at += 2;
            }
            pc += delta + 1;
            int newPlace = code.place(pc);
            frame(out, tag, newPlace - place - 1);
            place = newPlace;
        }
    }

    private void frame(ClassBytes out, int tag, int delta) throws Unsuitable {
        if (tag < SAME_LOCALS_1 || tag == SAME_EXTENDED) {
            if (delta < SAME_LOCALS_1) {
                out.u1(delta);
            } else {
                out.u1(SAME_EXTENDED);
                out.u2(delta);
            }
        } else if (tag <= SAME_LOCALS_1_EXTENDED) {
            if (delta < SAME_LOCALS_1) {
                out.u1(SAME_LOCALS_1 + delta);
            } else {
                out.u1(SAME_LOCALS_1_EXTENDED);
                out.u2(delta);
            }
            types(out, 1);
        } else {
            out.u1(tag);
            out.u2(delta);
            if (tag == FULL) {
                counted(out);
                counted(out);
            } else if (tag > SAME_EXTENDED) {
                types(out, tag - SAME_EXTENDED);
            }
        }
    }

    private void counted(ClassBytes out) throws Unsuitable {
        int n = u2(in, at);
        out.u2(n);
        at += 2;
        types(out, n);
    }

    private void types(ClassBytes out, int n) throws Unsuitable {
        for (int i = 0; i < n; i++) {
            int type = u1(in, at++);
            out.u1(type);
            if (type == OBJECT) {
                out.put(in, at, 2);
                at += 2;
            } else if (type == UNINITIALIZED) {
                out.u2(code.place(u2(in, at)));
                at += 2;
            } else if (type > UNINITIALIZED) {
                throw new Unsuitable("it has a stack map with the unknown type " + type);
            }
        }
    }
}
