// SPDX-License-Identifier: Apache-2.0

package faults;

import im.app.plugin.AppExtension;
import im.app.plugin.model.ClientRequest;
import im.app.plugin.model.RequestHandlerResult;
import im.app.service.infra.plugin.extension.ClientRequestHandler;
import java.lang.invoke.MethodHandles;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.function.IntConsumer;

/** Does what the address of the client says. */
public class Faults extends AppExtension implements ClientRequestHandler {
    private static final List<byte[]> HELD = new ArrayList<>();

    private static final List<Object> CLASSES = new ArrayList<>();

    private static volatile long turns;

    private final Object left = new Object();
    private final Object right = new Object();
    private int calls;

    @Override
    public void start() throws Exception {
        hook("start");
    }

    @Override
    public void pause() throws Exception {
        hook("pause");
    }

    @Override
    public void resume() throws Exception {
        hook("resume");
    }

    @Override
    public void stop() throws Exception {
        hook("stop");
    }

    /** Notes the hook, and does what the storage says about it. */
    private void hook(String name) throws Exception {
        String trace = storage().getText("hooks");
        storage().setText("hooks", (trace == null ? "" : trace + " ") + name);
        String what = storage().getText("on-" + name);
        if (what != null) {
            act(what);
        }
    }

    @Override
    public ClientRequest transform(ClientRequest request) {
        return request.withClientIp(request.clientIp() + "!");
    }

    @Override
    public RequestHandlerResult handle(ClientRequest request) throws Exception {
        return RequestHandlerResult.of(1000, act(request.clientIp()));
    }

    private String act(String what) throws Exception {
        switch (what) {
            case "echo" -> {
                return "echo";
            }
            case "pid" -> {
                return String.valueOf(ProcessHandle.current().pid());
            }
            case "child" -> {
                return String.valueOf(new ProcessBuilder("sleep", "3600").start().pid());
            }
            case "throw" -> throw new IllegalStateException("it is broken", new RuntimeException("because of this"));
            case "sleep" -> Thread.sleep(3_600_000);
            case "wait" -> new CountDownLatch(1).await();
            case "stubborn" -> {
                while (true) {
                    try {
                        Thread.sleep(3_600_000);
                    } catch (InterruptedException e) {
                        logger().info("interrupted");
                    }
                }
            }
            case "spin" -> {
                while (!Thread.currentThread().isInterrupted()) {
                    Thread.onSpinWait();
                }
            }
            case "spin-on" -> {
                storage().setText("spins", "yes");
                spinOn();
            }
            case "spin-on-thread" -> Thread.ofPlatform().name("spins on").daemon().start(Faults::spinOn);
            case "spin-on-virtual" -> Thread.ofVirtual().name("spins on").start(Faults::spinOn);
            case "burn" -> {
                byte[] last = null;
                for (long end = System.nanoTime() + 100_000_000; System.nanoTime() < end;) {
                    last = new byte[1 << 10];
                }
                return "burnt " + last.length;
            }
            case "garbage" -> {
                byte[] last = null;
                for (int i = 0; i < 24; i++) {
                    last = new byte[1 << 20];
                }
                return last == null ? "none" : "garbage";
            }
            case "hold-heap" -> HELD.add(new byte[12 << 20]);
            case "overflow" -> {
                return deeper(1) + "";
            }
            case "memory" -> {
                while (true) {
                    HELD.add(new byte[1 << 16]);
                }
            }
            case "hoard" -> Thread.ofPlatform().name("hoards").daemon().start(Faults::hoard);
            case "classes" -> classes();
            case "memory-let-go" -> {
                List<byte[]> all = new ArrayList<>();
                while (true) {
                    all.add(new byte[1 << 20]);
                }
            }
            case "array" -> {
                return "" + new int[Integer.MAX_VALUE].length;
            }
            case "array-of-heap" -> {
                return "" + new long[1 << 28].length;
            }
            case "array-caught" -> {
                try {
                    return "" + new int[Integer.MAX_VALUE].length;
                } catch (OutOfMemoryError e) {
                    return "caught";
                }
            }
            case "repeat" -> {
                return "xy".repeat(Integer.MAX_VALUE).substring(1, 2);
            }
            case "thrown" -> throw new OutOfMemoryError("Java heap space");
            case "direct" -> {
                return "" + java.nio.ByteBuffer.allocateDirect(Integer.MAX_VALUE).limit();
            }
            case "deadlock" -> deadlock();
            case "exit" -> System.exit(7);
            case "runtime-exit" -> Runtime.getRuntime().exit(8);
            case "halt-by-handle" -> {
                IntConsumer end = Runtime.getRuntime()::halt;
                end.accept(9);
            }
            case "halt" -> Runtime.getRuntime().halt(9);
            case "crash" -> crash();
            case "flood" -> {
                for (int i = 0; i < 50_000; i++) {
                    System.out.println("line " + i + " of a flood that goes on and on and on");
                }
                return "flooded";
            }
            case "giant" -> {
                return "x".repeat(17 << 20);
            }
            case "large" -> {
                return "x".repeat(4 << 20);
            }
            case "thread" -> {
                Thread t = new Thread(() -> {
                    try {
                        Thread.sleep(3_600_000);
                    } catch (InterruptedException e) {
                        // It was only for the test.
                    }
                }, "left behind");
                t.setDaemon(true);
                t.start();
            }
            case "wrapper" -> {
                Integer number = calls;
                synchronized (number) {
                    return "locked";
                }
            }
            case "print" -> {
                System.out.println("to standard output");
                System.err.println("to standard error");
                logger().warn("to the log {}", 5);
            }
            default -> {
                return "unknown: " + what;
            }
        }
        return what;
    }

    /** Computes for ever, whoever interrupts it. */
    private static void spinOn() {
        while (true) {
            turns++;
        }
    }

    /** Fills the heap and tells nobody. */
    private static void hoard() {
        for (int size = 1 << 20; ; size = Math.max(size / 2, 16)) {
            try {
                while (true) {
                    HELD.add(new byte[size]);
                }
            } catch (OutOfMemoryError e) {
                turns++;
            }
        }
    }

    /** Makes classes until there is no room for more. */
    private void classes() throws Exception {
        byte[] code;
        try (var in = Faults.class.getResourceAsStream("FaultsPlugin.class")) {
            code = in.readAllBytes();
        }
        CLASSES.add(MethodHandles.lookup().defineHiddenClass(code, false));
        storage().setText("classes", "are made"); // From now on it needs nothing that ends with the plugin.
        for (;;) {
            CLASSES.add(MethodHandles.lookup().defineHiddenClass(code, false));
        }
    }

    private int deeper(int n) {
        return deeper(n + 1) + 1;
    }

    private void deadlock() throws Exception {
        CountDownLatch both = new CountDownLatch(2);
        Thread other = Thread.ofPlatform().name("one of a deadlock").daemon().start(() -> {
            synchronized (right) {
                both.countDown();
                await(both);
                synchronized (left) {
                    calls++;
                }
            }
        });
        synchronized (left) {
            both.countDown();
            await(both);
            synchronized (right) {
                calls++;
            }
        }
        other.join();
    }

    private static void await(CountDownLatch latch) {
        try {
            latch.await();
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }

    private static void crash() throws Exception {
        var field = Class.forName("sun.misc.Unsafe").getDeclaredField("theUnsafe");
        field.setAccessible(true);
        Object unsafe = field.get(null);
        unsafe.getClass().getMethod("putAddress", long.class, long.class).invoke(unsafe, 0L, 0L);
    }
}
