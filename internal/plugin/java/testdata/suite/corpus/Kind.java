// SPDX-License-Identifier: Apache-2.0

package corpus;

import java.io.FileInputStream;
import java.io.FileOutputStream;
import java.lang.invoke.MethodHandles;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;

/** What a bad plugin does, and when: "load throw", "start wait", "stop spin", "call halt". */
final class Kind {
    static final String KIND = read();
    private static volatile long turns;
    private static final List<byte[]> HELD = new ArrayList<>();
    private static final List<ByteBuffer> BUFFERS = new ArrayList<>();
    private static final List<Object> CLASSES = new ArrayList<>();
    private static final List<FileInputStream> FILES = new ArrayList<>();

    private Kind() {}

    private static String read() {
        try (var in = Kind.class.getResourceAsStream("/kind.txt")) {
            return new String(in.readAllBytes(), StandardCharsets.UTF_8);
        } catch (Exception e) {
            throw new IllegalStateException(e);
        }
    }

    static void act(String when) throws Exception {
        if (!KIND.startsWith(when + " ")) {
            return;
        }
        switch (KIND.substring(when.length() + 1)) {
            case "throw" -> throw new IllegalStateException("no");
            case "error" -> throw new AssertionError("no");
            case "wait" -> new CountDownLatch(1).await();
            case "ignore" -> {
                for (;;) {
                    try {
                        new CountDownLatch(1).await();
                    } catch (InterruptedException e) {
                        // That is what it ignores.
                    }
                }
            }
            case "recurse" -> recurse(0);
            case "deadlock" -> deadlock();
            case "buffer" -> HELD.add(new byte[1 << 30]);
            case "flood" -> {
                for (int i = 0; i < 2_000_000; i++) {
                    System.out.println("x".repeat(100) + i);
                }
            }
            case "pipe" -> {
                try (var out = new FileOutputStream("/proc/self/fd/1")) {
                    out.write("not a frame\n".getBytes(StandardCharsets.UTF_8));
                }
            }
            case "halt" -> Runtime.getRuntime().halt(9);
            case "exit" -> System.exit(9);
            case "child" -> new ProcessBuilder("sleep", "1").start();
            case "spin" -> spin();
            case "outlive" -> {
                Thread.ofPlatform().daemon().start(Kind::spin);
                Thread.ofVirtual().start(Kind::spin);
            }
            case "storm" -> {
                for (;;) {
                    Thread.ofVirtual().start(Kind::storm);
                }
            }
            case "threads" -> {
                for (int i = 0; i < 1000; i++) {
                    Thread.ofPlatform().daemon().start(Kind::sleep);
                }
            }
            case "heap" -> {
                for (;;) {
                    HELD.add(new byte[1 << 16]);
                }
            }
            case "waste" -> {
                for (;;) {
                    turns += new byte[1 << 16].length;
                }
            }
            case "direct" -> {
                for (;;) {
                    BUFFERS.add(ByteBuffer.allocateDirect(1 << 20));
                }
            }
            case "metaspace" -> {
                byte[] code;
                try (var in = Kind.class.getResourceAsStream("Kind.class")) {
                    code = in.readAllBytes();
                }
                for (;;) {
                    CLASSES.add(MethodHandles.lookup().defineHiddenClass(code, false));
                }
            }
            case "files" -> {
                for (int i = 0; i < 5000; i++) {
                    FILES.add(new FileInputStream("/dev/null"));
                }
            }
            case "thrown" -> throw new OutOfMemoryError("Java heap space");
            case "array" -> HELD.add(new byte[Integer.MAX_VALUE]);
            case "crash" -> {
                var field = Class.forName("sun.misc.Unsafe").getDeclaredField("theUnsafe");
                field.setAccessible(true);
                Object unsafe = field.get(null);
                unsafe.getClass().getMethod("putAddress", long.class, long.class).invoke(unsafe, 0L, 0L);
            }
            case "close" -> {
                System.out.close();
                System.err.close();
                Thread.currentThread().setContextClassLoader(null);
            }
            case "handler" -> Thread.setDefaultUncaughtExceptionHandler((t, e) -> spin());
            case "hooks" -> Runtime.getRuntime().addShutdownHook(new Thread(Kind::spin));
            case "regexp" -> "a".repeat(40).concat("b").matches("^(a+)+$");
            default -> throw new IllegalArgumentException(KIND);
        }
    }

    private static void spin() {
        for (;;) {
            turns++;
        }
    }

    private static void storm() {
        Thread.ofVirtual().start(Kind::sleep);
        sleep();
    }

    private static void sleep() {
        try {
            Thread.sleep(3_600_000);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    private static int recurse(int n) {
        return recurse(n + 1) + 1;
    }

    private static void deadlock() throws InterruptedException {
        Object one = new Object();
        Object two = new Object();
        CountDownLatch both = new CountDownLatch(2);
        Thread other = Thread.ofVirtual().start(() -> lock(two, one, both));
        lock(one, two, both);
        other.join();
    }

    private static void lock(Object first, Object second, CountDownLatch both) {
        synchronized (first) {
            both.countDown();
            try {
                both.await();
            } catch (InterruptedException e) {
                return;
            }
            synchronized (second) {
                turns++;
            }
        }
    }
}
