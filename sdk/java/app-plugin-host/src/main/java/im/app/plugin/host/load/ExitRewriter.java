// SPDX-License-Identifier: Apache-2.0

package im.app.plugin.host.load;

import org.objectweb.asm.ConstantDynamic;
import org.objectweb.asm.Handle;
import org.objectweb.asm.MethodVisitor;
import org.objectweb.asm.Opcodes;

/**
 * Redirects calls and method handles of {@link System#exit}, {@link Runtime#exit} and {@link
 * Runtime#halt} to the static methods of {@link im.app.plugin.host.guard.Exits} with the same names
 * and operands.
 */
final class ExitRewriter {
    /** The names of the methods, packed into integers. */
    private static final int EXIT = 'e' << 24 | 'x' << 16 | 'i' << 8 | 't';

    private static final int HALT = 'h' << 24 | 'a' << 16 | 'l' << 8 | 't';

    private ExitRewriter() {}

    /**
     * Rewrites a class.
     *
     * @param classFile the class
     * @return the new class; the same array if it uses none of these methods or is malformed, which
     * the JVM reports
     */
    static byte[] rewrite(byte[] classFile) {
        // Few classes contain the names, so few are parsed.
        return ClassBytes.contains(classFile, EXIT, HALT) ? Rewriter.rewrite(classFile) : classFile;
    }

    /** A separate class, so that ASM is loaded only if it is needed. */
    private static final class Rewriter extends InstructionRewriter {
        private static final String GUARD = "im/app/plugin/host/guard/Exits";
        private static final String DESCRIPTOR = "(I)V";

        private Rewriter(MethodVisitor out) {
            super(out);
        }

        static byte[] rewrite(byte[] classFile) {
            try {
                return rewrite(new ClassFile(classFile), method -> true, Rewriter::new);
            } catch (RuntimeException | AssertionError e) {
                return classFile;
            }
        }

        /**
         * Returns the descriptor of the guard method that replaces a method; null if it is not
         * replaced.
         */
        private static String guarded(boolean virtual, String owner, String name, String descriptor) {
            if (!descriptor.equals(DESCRIPTOR)) {
                return null;
            }
            if (virtual) {
                return owner.equals("java/lang/Runtime") && (name.equals("exit") || name.equals("halt")) ? "(Ljava/lang/Runtime;I)V" : null;
            }
            return owner.equals("java/lang/System") && name.equals("exit") ? DESCRIPTOR : null;
        }

        @Override
        public void visitMethodInsn(int opcode, String owner, String name, String descriptor, boolean isInterface) {
            String guarded = guarded(opcode == Opcodes.INVOKEVIRTUAL, owner, name, descriptor);
            if (guarded == null) {
                super.visitMethodInsn(opcode, owner, name, descriptor, isInterface);
            } else {
                found = true;
                super.visitMethodInsn(Opcodes.INVOKESTATIC, GUARD, name, guarded, false);
            }
        }

        @Override
        public void visitInvokeDynamicInsn(String name, String descriptor, Handle bootstrap, Object... arguments) {
            super.visitInvokeDynamicInsn(name, descriptor, bootstrap, constants(arguments));
        }

        @Override
        public void visitLdcInsn(Object value) {
            super.visitLdcInsn(constant(value));
        }

        private Object[] constants(Object[] values) {
            Object[] out = new Object[values.length];
            for (int i = 0; i < values.length; i++) {
                out[i] = constant(values[i]);
            }
            return out;
        }

        private Object constant(Object value) {
            if (value instanceof Handle h) {
                String guarded = guarded(h.getTag() == Opcodes.H_INVOKEVIRTUAL, h.getOwner(), h.getName(), h.getDesc());
                if (guarded == null) {
                    return h;
                }
                found = true;
                return new Handle(Opcodes.H_INVOKESTATIC, GUARD, h.getName(), guarded, false);
            }
            if (value instanceof ConstantDynamic c) {
                Object[] arguments = new Object[c.getBootstrapMethodArgumentCount()];
                for (int i = 0; i < arguments.length; i++) {
                    arguments[i] = c.getBootstrapMethodArgument(i);
                }
                return new ConstantDynamic(c.getName(), c.getDescriptor(), c.getBootstrapMethod(), constants(arguments));
            }
            return value;
        }
    }
}
