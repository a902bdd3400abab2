// SPDX-License-Identifier: Apache-2.0

package im.app.plugin.host.load;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotSame;
import static org.junit.jupiter.api.Assertions.assertSame;

import im.app.plugin.host.Sources;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.objectweb.asm.ClassVisitor;
import org.objectweb.asm.Handle;
import org.objectweb.asm.MethodVisitor;
import org.objectweb.asm.Opcodes;

class ExitRewriterTest {
    private static final String USES =
            """
            package t;
            import java.util.function.IntConsumer;
            public class Uses {
                static void exit(int n) {}
                static void calls(int n) { exit(n); System.exit(n); Runtime.getRuntime().exit(n); Runtime.getRuntime().halt(n); }
                static IntConsumer[] handles() { return new IntConsumer[] {Uses::exit, System::exit, Runtime.getRuntime()::exit, Runtime.getRuntime()::halt}; }
            }
            """;

    /**
     * Returns the methods with these names that a class calls or refers to by handles, in order.
     */
    private static List<String> uses(byte[] classFile) {
        List<String> out = new ArrayList<>();
        new ClassFile(classFile).accept(
                new ClassVisitor(Opcodes.ASM9) {
                    @Override
                    public MethodVisitor visitMethod(int access, String name, String descriptor, String signature, String[] exceptions) {
                        return new MethodVisitor(Opcodes.ASM9) {
                            private void add(String owner, String name, String descriptor) {
                                if (name.equals("exit") || name.equals("halt")) {
                                    out.add(owner + "." + name + descriptor);
                                }
                            }

                            @Override
                            public void visitMethodInsn(int opcode, String owner, String name, String descriptor, boolean isInterface) {
                                add((opcode == Opcodes.INVOKESTATIC ? "" : "virtual ") + owner, name, descriptor);
                            }

                            @Override
                            public void visitInvokeDynamicInsn(String name, String descriptor, Handle bootstrap, Object... arguments) {
                                for (Object a : arguments) {
                                    if (a instanceof Handle h) {
                                        add((h.getTag() == Opcodes.H_INVOKESTATIC ? "" : "virtual ") + h.getOwner(), h.getName(), h.getDesc());
                                    }
                                }
                            }
                        };
                    }
                },
                0);
        return out;
    }

    @Test
    void callsAndHandlesAreReplaced() {
        byte[] b = Sources.compile(USES).get("t.Uses");
        List<String> before = List.of("t/Uses.exit(I)V", "java/lang/System.exit(I)V", "virtual java/lang/Runtime.exit(I)V", "virtual java/lang/Runtime.halt(I)V");
        String guard = "im/app/plugin/host/guard/Exits.";
        List<String> after = List.of("t/Uses.exit(I)V", guard + "exit(I)V", guard + "exit(Ljava/lang/Runtime;I)V", guard + "halt(Ljava/lang/Runtime;I)V");
        assertEquals(twice(before), uses(b));
        byte[] rewritten = ExitRewriter.rewrite(b);
        assertNotSame(b, rewritten);
        assertEquals(twice(after), uses(rewritten));
        assertSame(rewritten, ExitRewriter.rewrite(rewritten));
    }

    private static List<String> twice(List<String> list) {
        List<String> out = new ArrayList<>(list);
        out.addAll(list);
        return out;
    }

    @Test
    void otherClassesStayAsTheyAre() {
        byte[] b = Sources.compile("package t; public class Plain { static void exit(int n) {} static void x() { exit(1); } String s = \"halt\"; }").get("t.Plain");
        assertSame(b, ExitRewriter.rewrite(b));
    }

    @Test
    void brokenClassFilesAreLeftToTheJvm() {
        byte[] good = Sources.compile(USES).get("t.Uses");
        Random random = new Random(1);
        for (int i = 0; i < 2_000; i++) {
            byte[] b = good.clone();
            for (int j = random.nextInt(3); j >= 0; j--) {
                b[random.nextInt(b.length)] = (byte) random.nextInt();
            }
            ExitRewriter.rewrite(random.nextBoolean() ? java.util.Arrays.copyOf(b, random.nextInt(b.length)) : b);
        }
    }
}
