// SPDX-License-Identifier: Apache-2.0

package im.app.plugin.host.load;

/** Inspects class files without parsing them. */
final class ClassBytes {
    /** The offset of the major version. */
    private static final int MAJOR = 6;

    private ClassBytes() {}

    /** Returns the major version of a class file. */
    static int version(byte[] classFile) {
        return (classFile[MAJOR] & 0xff) << 8 | classFile[MAJOR + 1] & 0xff;
    }

    /** Sets the major version of a class file. */
    static void setVersion(byte[] classFile, int version) {
        classFile[MAJOR] = (byte) (version >> 8);
        classFile[MAJOR + 1] = (byte) version;
    }

    /** Returns whether a class file contains a byte. */
    static boolean contains(byte[] classFile, byte b) {
        for (byte c : classFile) {
            if (c == b) {
                return true;
            }
        }
        return false;
    }

    /**
     * Returns whether a class file contains one of two texts of four letters, packed into integers.
     */
    static boolean contains(byte[] classFile, int letters, int others) {
        int last = 0;
        for (byte c : classFile) {
            last = last << Byte.SIZE | c & 0xff;
            if (last == letters || last == others) {
                return true;
            }
        }
        return false;
    }
}
