// SPDX-License-Identifier: Apache-2.0

package im.app.plugin.host.load;

import java.util.Arrays;
import java.util.Objects;

/** A class file that is taken apart and put together again: big-endian numbers in a growing array. */
final class ClassBytes {
    byte[] data;
    int size;

    ClassBytes(int capacity) {
        data = new byte[Math.max(capacity, 16)];
    }

    static int u1(byte[] b, int at) {
        return b[at] & 0xff;
    }

    static int u2(byte[] b, int at) {
        return (b[at] & 0xff) << 8 | b[at + 1] & 0xff;
    }

    static int s2(byte[] b, int at) {
        return (short) u2(b, at);
    }

    static int s4(byte[] b, int at) {
        return u2(b, at) << 16 | u2(b, at + 2);
    }

    private void room(int n) {
        if (n > data.length - size) {
            data = Arrays.copyOf(data, Math.max(size + n, 2 * data.length));
        }
    }

    void u1(int v) {
        room(1);
        data[size++] = (byte) v;
    }

    void u2(int v) {
        u1(v >> 8);
        u1(v);
    }

    void u4(int v) {
        u2(v >> 16);
        u2(v);
    }

    void put(byte[] from, int at, int n) {
        Objects.checkFromIndexSize(at, n, from.length);
        room(n);
        System.arraycopy(from, at, data, size, n);
        size += n;
    }

    /** Fills in a number that was left out before. */
    void setU4(int at, int v) {
        data[at] = (byte) (v >> 24);
        data[at + 1] = (byte) (v >> 16);
        data[at + 2] = (byte) (v >> 8);
        data[at + 3] = (byte) v;
    }

    byte[] toByteArray() {
        return Arrays.copyOf(data, size);
    }
}
