// SPDX-License-Identifier: Apache-2.0

package im.app.plugin.host.load;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotSame;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import im.app.plugin.host.Sources;
import java.io.IOException;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.net.URI;
import java.nio.file.FileSystem;
import java.nio.file.FileSystems;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.objectweb.asm.ClassWriter;
import org.objectweb.asm.Label;
import org.objectweb.asm.MethodVisitor;
import org.objectweb.asm.Opcodes;

class MonitorRewriterTest {
    /** Defines the given classes and delegates to its parent for all others. */
    private static final class Definer extends ClassLoader {
        private final Map<String, byte[]> classes;

        Definer(Map<String, byte[]> classes) {
            super(MonitorRewriterTest.class.getClassLoader());
            this.classes = classes;
        }

        @Override
        protected Class<?> loadClass(String name, boolean resolve) throws ClassNotFoundException {
            synchronized (getClassLoadingLock(name)) {
                byte[] b = classes.get(name);
                if (b == null) {
                    return super.loadClass(name, resolve);
                }
                Class<?> c = findLoadedClass(name);
                return c != null ? c : defineClass(name, b, 0, b.length);
            }
        }
    }

    private static Map<String, byte[]> rewriteAll(Map<String, byte[]> classes) throws Exception {
        Map<String, byte[]> out = new HashMap<>();
        for (Map.Entry<String, byte[]> e : classes.entrySet()) {
            out.put(e.getKey(), MonitorRewriter.rewrite(e.getValue()));
        }
        return out;
    }

    private static final String LOCKS =
            """
            package t;
            import java.util.*;
            public class Locks {
                int n;
                public static String lock(Object o) { synchronized (o) { return "locked " + o; } }
                public static int loop(Object[] locks, int times) {
                    int sum = 0;
                    for (int i = 0; i < times; i++) {
                        for (Object l : locks) {
                            try {
                                synchronized (l) {
                                    switch (i % 5) {
                                        case 0: sum += 1; break;
                                        case 1: sum += 10; continue;
                                        case 2: sum += 100; break;
                                        default: sum += 1000;
                                    }
                                    synchronized (locks) {
                                        switch (i) { case 7: sum += 7; break; case 1000000: sum = 0; break; case -5: return -5; default: sum++; }
                                    }
                                }
                            } catch (IllegalMonitorStateException e) {
                                sum += 1000000;
                            }
                        }
                    }
                    return sum;
                }
                public static String uninitialized(Object o, boolean b) {
                    return new String(new StringBuilder(b ? held(o, "x") : held(o, "y")).append(b ? 1 : 2));
                }
                static String held(Object o, String s) {
                    String t = s;
                    synchronized (o) { if (s.equals("x")) { t = t + "!"; } else { long l = 5L; double d = l; t = t + d; } }
                    return t;
                }
                public int nested() {
                    Runnable r = () -> { synchronized (this) { n++; } };
                    r.run(); r.run();
                    synchronized (this) { return n; }
                }
                public synchronized int method() { return ++n; }
            }
            """;

    @Test
    void rewrittenCodeRunsAndRefusesWrappers() throws Exception {
        Map<String, byte[]> classes = Sources.compile(LOCKS);
        Map<String, byte[]> rewritten = rewriteAll(classes);
        Class<?> before = new Definer(classes).loadClass("t.Locks");
        Class<?> after = new Definer(rewritten).loadClass("t.Locks");
        Object[] locks = {new Object(), "s", List.of()};
        Method loop = after.getMethod("loop", Object[].class, int.class);
        assertEquals(before.getMethod("loop", Object[].class, int.class).invoke(null, locks, 50), loop.invoke(null, locks, 50));
        assertEquals(3_000_000, loop.invoke(null, new Object[] {1, 2L, 'c'}, 1));
        for (boolean b : new boolean[] {true, false}) {
            assertEquals(
                    before.getMethod("uninitialized", Object.class, boolean.class).invoke(null, "o", b),
                    after.getMethod("uninitialized", Object.class, boolean.class).invoke(null, "o", b));
        }
        Object o = after.getConstructor().newInstance();
        assertEquals(2, after.getMethod("nested").invoke(o));
        assertEquals(3, after.getMethod("method").invoke(o));

        Method lock = after.getMethod("lock", Object.class);
        assertEquals("locked x", lock.invoke(null, "x"));
        for (Object wrapper : new Object[] {1, 1L, true, 'c', (byte) 1, (short) 1, 1.0, 1.0f}) {
            Throwable e = assertThrows(InvocationTargetException.class, () -> lock.invoke(null, wrapper)).getCause();
            assertEquals(IllegalMonitorStateException.class, e.getClass());
            assertTrue(e.getMessage().contains(wrapper.getClass().getName()), e.getMessage());
            assertEquals(5, e.getStackTrace()[1].getLineNumber(), "the line of the block");
        }
        Throwable e = assertThrows(InvocationTargetException.class, () -> lock.invoke(null, (Object) null)).getCause();
        assertEquals(NullPointerException.class, e.getClass());
    }

    @Test
    void jumpsThatGetTooLongAreWidened() throws Exception {
        // The checks extend the jump back to the beginning of the loop beyond 16 bits if it was
        // just below that limit.
        int usual = grown(100);
        int widened = 0;
        for (int filling = 10_680; filling < 10_840; filling += 20) {
            if (grown(filling) == usual + 2) {
                widened++;
            }
        }
        assertTrue(widened > 0, "no jump was widened");
    }

    /**
     * Rewrites a loop with a number of additional instructions, compares the results, and returns
     * by how many bytes the class grew.
     */
    private static int grown(int filling) throws Exception {
        Map<String, byte[]> classes = Sources.compile("package t; public class Loop { public static int run(Object o, int times) {"
                + " int n = 0; int i = 0; while (true) {" + "synchronized (o) { n ^= 5; }".repeat(20) + "n++;".repeat(filling)
                + " if (++i >= times) { return n; } n++; } } }");
        Map<String, byte[]> rewritten = rewriteAll(classes);
        Object want = new Definer(classes).loadClass("t.Loop").getMethod("run", Object.class, int.class).invoke(null, "o", 3);
        Object got = new Definer(rewritten).loadClass("t.Loop").getMethod("run", Object.class, int.class).invoke(null, "o", 3);
        assertEquals(want, got);
        return rewritten.get("t.Loop").length - classes.get("t.Loop").length;
    }

    @Test
    void classesWithoutLocksStayAsTheyAre() throws Exception {
        byte[] b = Sources.compile("package t; public class Plain { static final char C = '\u00c2'; int x(int i) { return i * 194; } }")
                .get("t.Plain");
        assertSame(b, MonitorRewriter.rewrite(b));
    }

    @Test
    void methodsThatAreTooLongAreRefusedWithTheReason() {
        StringBuilder body = new StringBuilder();
        for (int i = 0; i < 2300; i++) {
            body.append("synchronized (o) { n++; }\n");
        }
        byte[] b = Sources.compile("package t; public class Huge { static int n; void x(Object o) {" + body + "} }").get("t.Huge");
        MonitorRewriter.Unsuitable e = assertThrows(MonitorRewriter.Unsuitable.class, () -> MonitorRewriter.rewrite(b));
        assertEquals("a method gets longer than 65535 bytes", e.getMessage());
    }

    @Test
    void brokenClassFilesAreRefusedAndNothingElse() {
        byte[] good = Sources.compile(LOCKS).get("t.Locks");
        java.util.Random random = new java.util.Random(1);
        for (int i = 0; i < 2_000; i++) {
            byte[] b = good.clone();
            for (int j = random.nextInt(3); j >= 0; j--) {
                b[random.nextInt(b.length)] = (byte) random.nextInt();
            }
            if (random.nextBoolean()) {
                b = java.util.Arrays.copyOf(b, random.nextInt(b.length));
            }
            try {
                MonitorRewriter.rewrite(b);
            } catch (MonitorRewriter.Unsuitable e) {
                assertTrue(!e.getMessage().isEmpty());
            }
        }
    }

    @Test
    void classesOfTheJdkAreStillValid() throws Exception {
        // Packages outside java.* can be defined by any loader; linking runs the verifier over
        // every method.
        Map<String, byte[]> classes = new HashMap<>();
        for (String module : List.of("jdk.compiler", "jdk.jshell", "jdk.jdeps", "java.xml", "jdk.httpserver", "java.logging")) {
            readModule(module, classes);
        }
        classes.keySet().removeIf(name -> name.startsWith("java.") || name.equals("module-info"));
        Map<String, byte[]> rewritten = rewriteAll(classes);
        Definer before = new Definer(classes);
        Definer after = new Definer(rewritten);
        int checked = 0;
        for (String name : classes.keySet()) {
            if (classes.get(name) == rewritten.get(name)) {
                continue;
            }
            if (link(before, name)) {
                link(after, name);
                checked++;
            }
        }
        assertTrue(checked > 25, "only " + checked + " classes could be compared");
    }

    /** Links a class. Returns false if that fails, but rethrows errors of the verifier. */
    private static boolean link(ClassLoader loader, String name) throws ClassNotFoundException {
        try {
            loader.loadClass(name).getDeclaredMethods();
            return true;
        } catch (VerifyError | ClassFormatError e) {
            throw e;
        } catch (LinkageError e) {
            // The class refers to a class that is visible only to its own module.
            return false;
        }
    }

    @Test
    void everyClassOfJavaBasePassesTheVerifierOfTheJdkWhereThereIsOne() throws Exception {
        Map<String, byte[]> classes = new HashMap<>();
        readModule("java.base", classes);
        Verifier verifier = Verifier.find();
        int changed = 0;
        for (Map.Entry<String, byte[]> e : classes.entrySet()) {
            byte[] after = MonitorRewriter.rewrite(e.getValue());
            if (after == e.getValue()) {
                continue;
            }
            changed++;
            assertNotSame(e.getValue(), after);
            assertEquals(verifier.errors(e.getValue()), verifier.errors(after), e.getKey());
        }
        assertTrue(changed > 200, "only " + changed + " classes were changed");
    }

    @Test
    void classesNewerThanAsmAreRewrittenToo() throws Exception {
        byte[] b = Sources.compile(LOCKS).get("t.Locks");
        byte[] newer = b.clone();
        ClassBytes.setVersion(newer, ClassFile.NEWEST + 1);
        byte[] after = MonitorRewriter.rewrite(newer);
        assertEquals(ClassFile.NEWEST + 1, ClassBytes.version(after));
        ClassBytes.setVersion(after, ClassBytes.version(b));
        assertArrayEquals(MonitorRewriter.rewrite(b), after);
        assertEquals(ClassFile.NEWEST + 1, ClassBytes.version(newer), "the class itself is changed");
    }

    /** Compilers before Java 6 compiled finally blocks to subroutines. */
    @Test
    void subroutinesOfOldClassesAreRewritten() throws Exception {
        ClassWriter w = new ClassWriter(0);
        w.visit(Opcodes.V1_4, Opcodes.ACC_PUBLIC, "t/Old", null, "java/lang/Object", null);
        MethodVisitor m = w.visitMethod(Opcodes.ACC_PUBLIC | Opcodes.ACC_STATIC, "run", "(Ljava/lang/Object;)I", null, null);
        Label subroutine = new Label();
        m.visitCode();
        m.visitJumpInsn(Opcodes.JSR, subroutine);
        m.visitJumpInsn(Opcodes.JSR, subroutine);
        m.visitInsn(Opcodes.ICONST_5);
        m.visitInsn(Opcodes.IRETURN);
        m.visitLabel(subroutine);
        m.visitVarInsn(Opcodes.ASTORE, 1);
        m.visitVarInsn(Opcodes.ALOAD, 0);
        m.visitInsn(Opcodes.MONITORENTER);
        m.visitVarInsn(Opcodes.ALOAD, 0);
        m.visitInsn(Opcodes.MONITOREXIT);
        m.visitVarInsn(Opcodes.RET, 1);
        m.visitMaxs(1, 2);
        m.visitEnd();
        w.visitEnd();
        Method run = new Definer(rewriteAll(Map.of("t.Old", w.toByteArray()))).loadClass("t.Old").getMethod("run", Object.class);
        assertEquals(5, run.invoke(null, "o"));
        Throwable e = assertThrows(InvocationTargetException.class, () -> run.invoke(null, 1)).getCause();
        assertEquals(IllegalMonitorStateException.class, e.getClass());
    }

    @Test
    void rewritingIsRepeatable() throws Exception {
        byte[] b = Sources.compile(LOCKS).get("t.Locks");
        assertArrayEquals(MonitorRewriter.rewrite(b), MonitorRewriter.rewrite(b));
    }

    private static void readModule(String module, Map<String, byte[]> into) throws IOException {
        FileSystem jrt = FileSystems.getFileSystem(URI.create("jrt:/"));
        Path root = jrt.getPath("modules", module);
        try (Stream<Path> files = Files.walk(root)) {
            for (Path p : (Iterable<Path>) files.filter(f -> f.toString().endsWith(".class"))::iterator) {
                String name = root.relativize(p).toString();
                into.put(name.substring(0, name.length() - 6).replace('/', '.'), Files.readAllBytes(p));
            }
        }
    }

    /** The verifier of java.lang.classfile, which exists since Java 24. */
    private interface Verifier {
        List<String> errors(byte[] classFile) throws Exception;

        static Verifier find() throws Exception {
            if (Runtime.version().feature() < 24) {
                return b -> List.of();
            }
            Class<?> type = Class.forName("java.lang.classfile.ClassFile");
            Object classFile = type.getMethod("of").invoke(null);
            Method verify = type.getMethod("verify", byte[].class);
            return b -> {
                List<String> out = new ArrayList<>();
                for (Object e : (List<?>) verify.invoke(classFile, (Object) b)) {
                    out.add(e.toString().replaceAll("(?s) @\\d+.*", "").replaceAll("(?s)Current frame.*", ""));
                }
                return out;
            };
        }
    }
}
