// SPDX-License-Identifier: Apache-2.0

package im.app.plugin.host.load;

import java.util.BitSet;
import java.util.Objects;
import org.objectweb.asm.ClassReader;
import org.objectweb.asm.Opcodes;

/**
 * A class file of a plugin, parsed lazily by ASM. All methods throw a {@link RuntimeException} if
 * it is malformed.
 */
class ClassFile extends ClassReader {
    /** The newest class file version that ASM accepts. */
    static final int NEWEST = Opcodes.V28;

    private final byte[] bytes;

    ClassFile(byte[] bytes) {
        super(readable(bytes));
        this.bytes = bytes;
    }

    /** Returns the original bytes. */
    byte[] bytes() {
        return bytes;
    }

    /**
     * Returns a copy with the newest accepted version if the class file is newer. ASM still rejects
     * unknown constants and instructions.
     */
    private static byte[] readable(byte[] bytes) {
        if (ClassBytes.version(bytes) <= NEWEST) {
            return bytes;
        }
        byte[] copy = bytes.clone();
        ClassBytes.setVersion(copy, NEWEST);
        return copy;
    }

    /** Returns the positions of the methods whose instructions contain a byte. */
    BitSet methodsWith(int opcode) {
        BitSet found = new BitSet();
        char[] buffer = new char[getMaxStringLength()];
        int at = header + 6;
        at += 2 + 2 * readUnsignedShort(at);
        for (boolean methods : new boolean[] {false, true}) {
            int members = readUnsignedShort(at);
            at += 2;
            for (int i = 0; i < members; i++) {
                int attributes = readUnsignedShort(at + 6);
                at += 8;
                for (; attributes > 0; attributes--) {
                    int content = at + 6;
                    int end = content + readInt(at + 2);
                    Objects.checkFromToIndex(content, end, bytes.length);
                    if (methods && "Code".equals(readUTF8(at, buffer)) && contains(content + 8, readInt(content + 4), (byte) opcode)) {
                        found.set(i);
                    }
                    at = end;
                }
            }
        }
        return found;
    }

    private boolean contains(int from, int length, byte b) {
        for (int i = from; i < from + length; i++) {
            if (bytes[i] == b) {
                return true;
            }
        }
        return false;
    }
}
