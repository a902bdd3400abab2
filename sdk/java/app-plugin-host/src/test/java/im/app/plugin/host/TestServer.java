// SPDX-License-Identifier: Apache-2.0

package im.app.plugin.host;

import im.app.plugin.host.generated.Arguments;
import im.app.plugin.host.generated.Dispatch;
import im.app.plugin.host.generated.MethodInfo;
import im.app.plugin.host.generated.PointInfo;
import im.app.plugin.host.wire.Frame;
import im.app.plugin.host.wire.FrameReader;
import im.app.plugin.host.wire.FrameWriter;
import im.app.plugin.host.wire.In;
import im.app.plugin.host.wire.Out;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Consumer;

/**
 * The server's end of the pipes: sends requests, receives logs, and responds to requests of
 * plugins.
 */
final class TestServer implements AutoCloseable {
    /** A limit for the slowest machine; passing tests never wait that long. */
    static final long PATIENCE = 60;

    /** An ERROR frame. */
    static final class HostError extends RuntimeException {
        private static final long serialVersionUID = 1L;
        final int code;
        final String location;
        final String stack;

        HostError(In in) {
            this(in.int32(), in.string(), in.string(), in.string());
        }

        private HostError(int code, String message, String location, String stack) {
            super(message);
            this.code = code;
            this.location = location;
            this.stack = stack;
        }
    }

    record Line(int module, int level, String logger, String message, String stack) {}

    record Loaded(int module, List<LoadedExtension> extensions, List<String> warnings) {}

    record LoadedExtension(int number, String className, List<String> points, List<Integer> methods, String endpoints) {}

    /** Responds to a request of a plugin. */
    interface Answer {
        void write(int what, In in, Out out);
    }

    final BlockingQueue<Line> log = new LinkedBlockingQueue<>();
    /** The module of the first thread that an exception ended, and how. */
    final CompletableFuture<String> uncaught = new CompletableFuture<>();
    final CompletableFuture<int[]> exit = new CompletableFuture<>();
    final CompletableFuture<Integer> halted = new CompletableFuture<>();
    final CompletableFuture<Void> ended = new CompletableFuture<>();
    volatile Answer answer = (what, in, out) -> {};

    /** The requests during which plugins sent requests to the server; 0 for none. */
    final Queue<Long> askedFor = new ConcurrentLinkedQueue<>();
    /** Responds to FUNCTION frames. */
    volatile Answer functions = (module, in, out) -> {};
    private final AtomicLong ids = new AtomicLong();
    private final Map<Long, CompletableFuture<In>> pending = new ConcurrentHashMap<>();
    private final FrameWriter writer;
    private final OutputStream toHost;
    private final Runnable closing;

    /** Connects to a host in this process. */
    static TestServer embedded() {
        BytePipe there = new BytePipe(64 << 10);
        BytePipe back = new BytePipe(64 << 10);
        TestServer s = new TestServer(back.in, there.out, there::close);
        Host host = new Host(there.in, back.out, s.halted::complete);
        Thread.ofPlatform().daemon().name("host").start(() -> {
            try {
                host.run();
                s.ended.complete(null);
            } catch (IOException | RuntimeException e) {
                s.ended.completeExceptionally(e);
            } finally {
                back.close();
            }
        });
        return s;
    }

    TestServer(InputStream fromHost, OutputStream toHost, Runnable closing) {
        this.toHost = toHost;
        this.closing = closing;
        writer = new FrameWriter(toHost);
        Thread.ofPlatform().daemon().name("server").start(() -> read(new FrameReader(fromHost)));
    }

    private void read(FrameReader reader) {
        try {
            for (Frame f = reader.read(); f != null; f = reader.read()) {
                take(f);
            }
        } catch (IOException e) {
            // The host ended in the middle of a frame.
        }
        pending.values().forEach(p -> p.completeExceptionally(new IOException("the host is gone")));
    }

    private void take(Frame f) {
        In in = f.body();
        switch (f.kind()) {
            case Frame.RESULT, Frame.READY -> finish(f.id(), p -> p.complete(in));
            case Frame.ERROR -> finish(f.id(), p -> p.completeExceptionally(new HostError(in)));
            case Frame.LOG -> log.add(new Line(in.number(), in.u8(), in.string(), in.string(), in.string()));
            case Frame.UNCAUGHT -> uncaught.complete(in.number() + " " + in.string());
            case Frame.EXIT -> exit.complete(new int[] {in.int32(), in.number()});
            case Frame.ASK, Frame.FUNCTION -> Thread.ofVirtual().start(() -> answer(f, in));
            default -> throw new IllegalStateException("frame of kind " + f.kind());
        }
    }

    private void finish(long id, Consumer<CompletableFuture<In>> with) {
        CompletableFuture<In> p = pending.remove(id);
        if (p != null) {
            with.accept(p);
        }
    }

    private void answer(Frame f, In in) {
        int module = in.number();
        Out out = new Out();
        int kind = Frame.RESULT;
        try {
            if (f.kind() == Frame.FUNCTION) {
                functions.write(module, in, out);
            } else {
                int what = in.u8();
                askedFor.add(in.zigzag());
                answer.write(what, in, out);
            }
        } catch (HostError | IllegalStateException e) {
            kind = Frame.ERROR;
            out = new Out();
            out.zigzag(e instanceof HostError h ? h.code : 0);
            out.string(e.getMessage());
            out.string("");
            out.string("");
        }
        send(kind, f.id(), out);
    }

    static HostError refusal(int code, String reason) {
        return new HostError(code, reason, "", "");
    }

    void send(int kind, long id, Out out) {
        try {
            writer.send(kind, id, out);
        } catch (IOException e) {
            throw new IllegalStateException(e);
        }
    }

    /** A pending request. */
    record Sent(long id, CompletableFuture<In> result) {
        In get() {
            return await(result);
        }
    }

    Sent start(int kind, Consumer<Out> body) {
        long id = ids.incrementAndGet();
        CompletableFuture<In> p = new CompletableFuture<>();
        pending.put(id, p);
        Out out = new Out();
        body.accept(out);
        send(kind, id, out);
        return new Sent(id, p);
    }

    static <T> T await(CompletableFuture<T> future) {
        try {
            return future.get(PATIENCE, TimeUnit.SECONDS);
        } catch (ExecutionException e) {
            if (e.getCause() instanceof RuntimeException r) {
                throw r;
            }
            throw new IllegalStateException(e.getCause());
        } catch (InterruptedException | TimeoutException e) {
            throw new IllegalStateException(e);
        }
    }

    In request(int kind, Consumer<Out> body) {
        return start(kind, body).get();
    }

    In hello(int pendingLimit) {
        return request(Frame.HELLO, out -> {
            out.u32(Frame.VERSION);
            out.string(Dispatch.FINGERPRINT);
            out.string("node-1");
            out.string("service");
            out.string("1.2.3");
            out.number(pendingLimit);
            out.bool(false);
        });
    }

    Loaded load(String id, String className, Path jar, boolean strict) {
        In in = request(Frame.LOAD, out -> {
            out.string(id);
            out.string("1.0");
            out.string(className);
            out.string(jar.toString());
            out.bool(strict);
            out.string(jar.getFileName().toString());
        });
        int module = in.number();
        List<LoadedExtension> extensions = new ArrayList<>();
        for (int n = in.count(); n > 0; n--) {
            int number = in.number();
            String name = in.string();
            List<String> points = strings(in);
            List<Integer> methods = new ArrayList<>();
            for (int m = in.count(); m > 0; m--) {
                methods.add(in.number());
            }
            extensions.add(new LoadedExtension(number, name, points, methods, in.string()));
        }
        return new Loaded(module, extensions, strings(in));
    }

    static List<String> strings(In in) {
        List<String> out = new ArrayList<>();
        for (int n = in.count(); n > 0; n--) {
            out.add(in.string());
        }
        return out;
    }

    List<String> unload(int module) {
        return strings(request(Frame.UNLOAD, out -> out.number(module)));
    }

    void hook(int extension, int hook) {
        request(Frame.HOOK, out -> {
            out.number(extension);
            out.u8(hook);
        });
    }

    Sent startCall(int extension, String method, Object... args) {
        int index = method(method);
        return start(Frame.CALL, out -> {
            out.number(extension);
            out.number(index);
            Arguments.write(index, args, out);
        });
    }

    Object call(int extension, String method, Object... args) {
        return Arguments.read(method(method), startCall(extension, method, args).get());
    }

    static int method(String name) {
        for (PointInfo p : Dispatch.POINTS) {
            int i = p.first();
            for (MethodInfo m : p.methods()) {
                if (name.equals(p.type().getSimpleName() + "." + m.name())) {
                    return i;
                }
                i++;
            }
        }
        throw new IllegalArgumentException(name);
    }

    /** Removes lines of the log until one contains a text. */
    Line line(String text) {
        long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(PATIENCE);
        try {
            while (System.nanoTime() < end) {
                Line l = log.poll(1, TimeUnit.SECONDS);
                if (l != null && l.message.contains(text)) {
                    return l;
                }
            }
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
        throw new IllegalStateException("no line with " + text);
    }

    @Override
    public void close() {
        closing.run();
        try {
            toHost.close();
        } catch (IOException e) {
            // It is closed in any case.
        }
    }
}
