// SPDX-License-Identifier: Apache-2.0

package im.app.plugin.host.load;

import java.io.IOException;
import java.io.InputStream;
import java.lang.reflect.Method;
import java.nio.charset.StandardCharsets;

/**
 * Recognizes methods that do nothing but call the default method of an interface with the same arguments. The compiler of
 * Scala puts one into a class for each default method that the class inherits; the author has not overridden anything by
 * that.
 */
final class Forwarders {
    /** How many interfaces a call is followed through. */
    private static final int DEEPEST = 32;

    private static final int ALOAD_0 = 0x2a;
    private static final int INVOKESPECIAL = 0xb7;
    private static final int INVOKESTATIC = 0xb8;
    private static final int IRETURN = 0xac;
    private static final int RETURN = 0xb1;

    private static final int TAG_UTF8 = 1;
    private static final int TAG_LONG = 5;
    private static final int TAG_DOUBLE = 6;
    private static final int TAG_CLASS = 7;
    private static final int TAG_STRING = 8;
    private static final int TAG_METHOD_HANDLE = 15;
    private static final int TAG_METHOD_TYPE = 16;
    private static final int TAG_MODULE = 19;
    private static final int TAG_PACKAGE = 20;

    /** Where the number of constants is in a class file. */
    private static final int CONSTANTS = 8;

    private Forwarders() {}

    /**
     * Tells whether calling a method comes down to the default method of an interface.
     *
     * @param m the method
     * @param point the interface
     * @return whether nothing but the default method runs; false if that cannot be found out
     */
    static boolean forwards(Method m, Class<?> point) {
        Method at = m;
        for (int i = 0; i < DEEPEST && at.getDeclaringClass() != point; i++) {
            Class<?> owner = at.getDeclaringClass();
            String next;
            try (InputStream in = open(owner)) {
                next = in == null ? null : new ClassFile(in.readAllBytes()).target(at);
            } catch (IOException | RuntimeException e) {
                return false; // It is no class file, which its loader has told or will tell.
            }
            if (next == null) {
                return false;
            }
            try {
                Class<?> to = Class.forName(next, false, owner.getClassLoader());
                if (!to.isInterface()) {
                    return false;
                }
                at = to.getMethod(m.getName(), m.getParameterTypes());
            } catch (ReflectiveOperationException | LinkageError e) {
                return false;
            }
        }
        return at.getDeclaringClass() == point;
    }

    private static InputStream open(Class<?> c) {
        return c.getClassLoader() instanceof PluginLoader l ? l.getResourceAsStream(c.getName().replace('.', '/') + ".class") : null;
    }

    /** The parts of a class file that matter here. */
    private static final class ClassFile {
        private final byte[] data;
        private final int[] constants;
        private int at;

        ClassFile(byte[] data) {
            this.data = data;
            constants = new int[ClassBytes.u2(data, CONSTANTS)];
            at = CONSTANTS + 2;
            for (int i = 1; i < constants.length; i++) {
                constants[i] = at;
                int tag = ClassBytes.u1(data, at);
                at += 1 + switch (tag) {
                    case TAG_UTF8 -> 2 + ClassBytes.u2(data, at + 1);
                    case TAG_LONG, TAG_DOUBLE -> 8;
                    case TAG_CLASS, TAG_STRING, TAG_METHOD_TYPE, TAG_MODULE, TAG_PACKAGE -> 2;
                    case TAG_METHOD_HANDLE -> 3;
                    default -> 4;
                };
                if (tag == TAG_LONG || tag == TAG_DOUBLE) {
                    i++; // They take two places.
                }
            }
            at += 6;
            at += 2 + 2 * ClassBytes.u2(data, at);
            skipFields();
        }

        private void skipFields() {
            int n = ClassBytes.u2(data, at);
            at += 2;
            for (int i = 0; i < n; i++) {
                at += 6;
                skipAttributes();
            }
        }

        private void skipAttributes() {
            int n = ClassBytes.u2(data, at);
            at += 2;
            for (int i = 0; i < n; i++) {
                at += 6 + ClassBytes.s4(data, at + 2);
            }
        }

        private String text(int constant) {
            int from = constants[constant];
            return new String(data, from + 3, ClassBytes.u2(data, from + 1), StandardCharsets.UTF_8);
        }

        /** The interface whose method is all that a method calls, null if it does anything else. */
        String target(Method m) {
            String descriptor = descriptor(m);
            int n = ClassBytes.u2(data, at);
            at += 2;
            for (int i = 0; i < n; i++) {
                boolean found = text(ClassBytes.u2(data, at + 2)).equals(m.getName()) && text(ClassBytes.u2(data, at + 4)).equals(descriptor);
                at += 6;
                if (found) {
                    return target(m, descriptor);
                }
                skipAttributes();
            }
            return null;
        }

        private String target(Method m, String descriptor) {
            int n = ClassBytes.u2(data, at);
            at += 2;
            for (int i = 0; i < n; i++) {
                if ("Code".equals(text(ClassBytes.u2(data, at)))) {
                    int length = ClassBytes.s4(data, at + 10);
                    return body(m, descriptor, at + 14, at + 14 + length);
                }
                at += 6 + ClassBytes.s4(data, at + 2);
            }
            return null;
        }

        /** Reads instructions: this and each parameter, a call, and the return. */
        private String body(Method m, String descriptor, int from, int end) {
            int pc = load(from, ALOAD_0, 0);
            int local = 1;
            for (Class<?> p : m.getParameterTypes()) {
                int kind = p == long.class ? 1 : p == float.class ? 2 : p == double.class ? 3 : p.isPrimitive() ? 0 : 4;
                pc = pc < 0 ? pc : load(pc, 0x1a + 4 * kind, local);
                local += kind == 1 || kind == 3 ? 2 : 1;
            }
            if (pc < 0 || end - pc != 4) {
                return null;
            }
            int call = ClassBytes.u1(data, pc);
            int back = ClassBytes.u1(data, pc + 3);
            if (call != INVOKESPECIAL && call != INVOKESTATIC || back < IRETURN || back > RETURN) {
                return null;
            }
            int ref = constants[ClassBytes.u2(data, pc + 1)];
            String owner = text(ClassBytes.u2(data, constants[ClassBytes.u2(data, ref + 1)] + 1));
            int type = constants[ClassBytes.u2(data, ref + 3)];
            // What a trait does is in a static method, too, that gets the object as its first argument.
            String name = call == INVOKESPECIAL ? m.getName() : m.getName() + "$";
            String wanted = call == INVOKESPECIAL ? descriptor : "(L" + owner + ";" + descriptor.substring(1);
            if (!text(ClassBytes.u2(data, type + 1)).equals(name) || !text(ClassBytes.u2(data, type + 3)).equals(wanted)) {
                return null;
            }
            return owner.replace('/', '.');
        }

        /** Returns where the instruction after one that loads a local variable is, -1 if there is another one. */
        private int load(int pc, int first, int local) {
            int op = ClassBytes.u1(data, pc);
            if (local < 4 && op == first + local) {
                return pc + 1;
            }
            int general = 0x15 + (first - 0x1a) / 4;
            return op == general && ClassBytes.u1(data, pc + 1) == local ? pc + 2 : -1;
        }

        private static String descriptor(Method m) {
            StringBuilder text = new StringBuilder("(");
            for (Class<?> p : m.getParameterTypes()) {
                text.append(p.descriptorString());
            }
            return text.append(')').append(m.getReturnType().descriptorString()).toString();
        }
    }
}
