// SPDX-License-Identifier: Apache-2.0

package corpus;

import java.io.FileOutputStream;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;

/** What a bad plugin does, and when: "load throw", "start wait", "stop spin", "call halt". */
final class Kind {
    static final String KIND = read();
    private static volatile long turns;
    private static final List<byte[]> HELD = new ArrayList<>();

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
                for (int i = 0; i < 20_000; i++) {
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
            case "regexp" -> "a".repeat(40).concat("b").matches("^(a+)+$");
            default -> throw new IllegalArgumentException(KIND);
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
