// SPDX-License-Identifier: Apache-2.0

package im.app.plugin.host.load;

import java.io.IOException;
import java.io.InputStream;
import java.lang.reflect.Method;
import java.util.ArrayList;
import java.util.List;
import org.objectweb.asm.ClassVisitor;
import org.objectweb.asm.MethodVisitor;
import org.objectweb.asm.Opcodes;
import org.objectweb.asm.Type;

/**
 * Recognizes methods that only call the default method of an interface with the same arguments. The
 * Scala compiler generates one for each default method that a class inherits; such a method does
 * not count as an override.
 */
final class Forwarders {
    /** The maximum number of interfaces through which a call is followed. */
    private static final int DEEPEST = 32;

    private Forwarders() {}

    /**
     * Returns whether calling a method only runs the default method of an interface.
     *
     * @param m the method
     * @param point the interface
     * @return whether it does; false if its class file cannot be read
     */
    static boolean forwards(Method m, Class<?> point) {
        Method at = m;
        for (int i = 0; i < DEEPEST && at.getDeclaringClass() != point; i++) {
            Class<?> owner = at.getDeclaringClass();
            String next;
            try (InputStream in = open(owner)) {
                next = in == null ? null : new Body(in.readAllBytes()).target(at);
            } catch (IOException | RuntimeException | AssertionError e) {
                return false; // The class loader reports a malformed class file.
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

    /** An instruction that loads a local variable, or has no operands. */
    private record Step(int opcode, int local) {}

    /** Reads the instructions of a method and counts them. */
    private static final class Body extends ClassFile {
        private final List<Step> steps = new ArrayList<>();
        private int instructions;
        private String owner;

        Body(byte[] classFile) {
            super(classFile);
        }

        @Override
        protected void readBytecodeInstructionOffset(int offset) {
            instructions++;
        }

        /**
         * Returns the class or interface that a method forwards to; null if the method is not a
         * forwarder.
         */
        String target(Method m) {
            String descriptor = Type.getMethodDescriptor(m);
            MethodVisitor body = new MethodVisitor(Opcodes.ASM9) {
                @Override
                public void visitVarInsn(int opcode, int local) {
                    steps.add(new Step(opcode, local));
                }

                @Override
                public void visitInsn(int opcode) {
                    steps.add(new Step(opcode, 0));
                }

                @Override
                public void visitMethodInsn(int opcode, String type, String name, String called, boolean isInterface) {
                    // The body of a trait method is in a static method with the object as its first
                    // parameter.
                    boolean same = opcode == Opcodes.INVOKESPECIAL && name.equals(m.getName()) && called.equals(descriptor);
                    boolean trait = opcode == Opcodes.INVOKESTATIC && name.equals(m.getName() + "$")
                            && called.equals("(L" + type + ";" + descriptor.substring(1));
                    if (same || trait) {
                        owner = type;
                        steps.add(new Step(Opcodes.INVOKESPECIAL, 0));
                    }
                }
            };
            accept(
                    new ClassVisitor(Opcodes.ASM9) {
                        @Override
                        public MethodVisitor visitMethod(int access, String name, String type, String signature, String[] exceptions) {
                            return name.equals(m.getName()) && type.equals(descriptor) ? body : null;
                        }
                    },
                    SKIP_DEBUG | SKIP_FRAMES);
            // Other instructions are only counted.
            boolean forwards = instructions == steps.size() && steps.equals(forwarding(m));
            return forwards ? owner.replace('/', '.') : null;
        }

        /**
         * Returns the instructions of a forwarder: this and each parameter, the call, and the
         * return.
         */
        private static List<Step> forwarding(Method m) {
            List<Step> steps = new ArrayList<>();
            steps.add(new Step(Opcodes.ALOAD, 0));
            int local = 1;
            for (Type parameter : Type.getArgumentTypes(m)) {
                steps.add(new Step(parameter.getOpcode(Opcodes.ILOAD), local));
                local += parameter.getSize();
            }
            steps.add(new Step(Opcodes.INVOKESPECIAL, 0));
            steps.add(new Step(Type.getReturnType(m).getOpcode(Opcodes.IRETURN), 0));
            return steps;
        }
    }
}
