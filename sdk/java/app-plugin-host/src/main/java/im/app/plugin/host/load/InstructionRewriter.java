// SPDX-License-Identifier: Apache-2.0

package im.app.plugin.host.load;

import java.util.HashMap;
import java.util.Map;
import java.util.function.Function;
import java.util.function.IntPredicate;
import org.objectweb.asm.Attribute;
import org.objectweb.asm.ClassReader;
import org.objectweb.asm.ClassVisitor;
import org.objectweb.asm.ClassWriter;
import org.objectweb.asm.MethodVisitor;
import org.objectweb.asm.Opcodes;

/** Replaces some instructions of a method. Sets {@link #found} if the method has any of them. */
abstract class InstructionRewriter extends MethodVisitor {
    private static final int API = Opcodes.ASM9;

    /** Whether the method has an instruction to replace. */
    boolean found;

    private boolean inCode;

    /**
     * Creates a rewriter of a method.
     *
     * @param out receives the new method; null to search only
     */
    InstructionRewriter(MethodVisitor out) {
        super(API, out);
    }

    @Override
    public void visitCode() {
        inCode = true;
        super.visitCode();
    }

    /** Drops unknown attributes of code, which may contain offsets of instructions. */
    @Override
    public void visitAttribute(Attribute attribute) {
        if (!inCode) {
            super.visitAttribute(attribute);
        }
    }

    /**
     * Rewrites the methods of a class that have an instruction to replace. All others are copied
     * byte for byte.
     *
     * @param in the class
     * @param candidates returns whether the method at a position may have such an instruction
     * @param rewriter creates the rewriter of a method
     * @return the bytes of the new class; the original array if no instruction is found
     * @throws RuntimeException if the class is malformed, or the new one exceeds a limit of class
     * files
     */
    static byte[] rewrite(ClassFile in, IntPredicate candidates, Function<MethodVisitor, ? extends InstructionRewriter> rewriter) {
        Map<Integer, InstructionRewriter> searched = new HashMap<>();
        in.accept(
                new ClassVisitor(API) {
                    private int next;

                    @Override
                    public MethodVisitor visitMethod(int access, String name, String descriptor, String signature, String[] exceptions) {
                        int method = next++;
                        return candidates.test(method) ? searched.computeIfAbsent(method, m -> rewriter.apply(null)) : null;
                    }
                },
                ClassReader.SKIP_DEBUG | ClassReader.SKIP_FRAMES);
        searched.values().removeIf(m -> !m.found);
        if (searched.isEmpty()) {
            return in.bytes();
        }
        int version = ClassBytes.version(in.bytes());
        ClassWriter writer = new ClassWriter(in, 0);
        in.accept(
                new ClassVisitor(API, writer) {
                    private int next;

                    @Override
                    public MethodVisitor visitMethod(int access, String name, String descriptor, String signature, String[] exceptions) {
                        MethodVisitor out = super.visitMethod(access, name, descriptor, signature, exceptions);
                        return searched.containsKey(next++) ? rewriter.apply(out) : out;
                    }
                },
                // A StackMapTable has no meaning before Java 6, and ASM does not write one.
                version < Opcodes.V1_6 ? ClassReader.SKIP_FRAMES : 0);
        byte[] out = writer.toByteArray();
        ClassBytes.setVersion(out, version);
        return out;
    }
}
