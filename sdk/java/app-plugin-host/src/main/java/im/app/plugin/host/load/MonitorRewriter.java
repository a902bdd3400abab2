// SPDX-License-Identifier: Apache-2.0

package im.app.plugin.host.load;

import java.util.BitSet;
import org.objectweb.asm.ClassTooLargeException;
import org.objectweb.asm.MethodTooLargeException;
import org.objectweb.asm.MethodVisitor;
import org.objectweb.asm.Opcodes;

/**
 * Inserts a check before every {@code monitorenter} of a class: a duplicate of the reference and a
 * call of {@link im.app.plugin.host.guard.Monitors#check}. Jumps to the instruction are redirected
 * to its check.
 */
final class MonitorRewriter {
    /** Thrown if a class cannot be rewritten; the JVM may still accept it. */
    static final class Unsuitable extends Exception {
        private static final long serialVersionUID = 1L;

        Unsuitable(String message) {
            super(message, null, false, false);
        }
    }

    private MonitorRewriter() {}

    /**
     * Rewrites a class.
     *
     * @param classFile the class
     * @return the class with the checks; the same array if it has no {@code monitorenter}
     * @throws Unsuitable if the class cannot be rewritten; the message is the reason
     */
    static byte[] rewrite(byte[] classFile) throws Unsuitable {
        // Few classes contain the byte, so few are parsed.
        return ClassBytes.contains(classFile, (byte) Opcodes.MONITORENTER) ? Rewriter.rewrite(classFile) : classFile;
    }

    /** A separate class, so that ASM is loaded only if it is needed. */
    private static final class Rewriter extends InstructionRewriter {
        private static final String GUARD = "im/app/plugin/host/guard/Monitors";
        private static final int LARGEST_STACK = 0xffff;

        private Rewriter(MethodVisitor out) {
            super(out);
        }

        static byte[] rewrite(byte[] classFile) throws Unsuitable {
            try {
                ClassFile in = new ClassFile(classFile);
                BitSet candidates = in.methodsWith(Opcodes.MONITORENTER);
                return candidates.isEmpty() ? classFile : rewrite(in, candidates::get, Rewriter::new);
            } catch (MethodTooLargeException e) {
                throw new Unsuitable("a method gets longer than 65535 bytes");
            } catch (ClassTooLargeException e) {
                throw new Unsuitable("it has so many constants that no more fit");
            } catch (RuntimeException | AssertionError e) {
                throw new Unsuitable("its code cannot be read: " + e);
            }
        }

        @Override
        public void visitInsn(int opcode) {
            if (opcode == Opcodes.MONITORENTER) {
                found = true;
                super.visitInsn(Opcodes.DUP);
                super.visitMethodInsn(Opcodes.INVOKESTATIC, GUARD, "check", "(Ljava/lang/Object;)V", false);
            }
            super.visitInsn(opcode);
        }

        @Override
        public void visitMaxs(int maxStack, int maxLocals) {
            if (found && maxStack == LARGEST_STACK) {
                throw new IllegalArgumentException("a method needs the largest stack");
            }
            super.visitMaxs(maxStack + 1, maxLocals);
        }
    }
}
