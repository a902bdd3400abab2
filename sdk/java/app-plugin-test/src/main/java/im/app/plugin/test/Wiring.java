// SPDX-License-Identifier: Apache-2.0

package im.app.plugin.test;

import im.app.plugin.AppException;
import im.app.plugin.Node;
import im.app.plugin.host.Host;
import im.app.plugin.host.generated.Dispatch;
import im.app.plugin.host.wire.Frame;
import im.app.plugin.host.wire.FrameReader;
import im.app.plugin.host.wire.FrameWriter;
import im.app.plugin.host.wire.In;
import im.app.plugin.host.wire.Out;
import java.io.IOException;
import java.io.OutputStream;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicLong;

/** A host in this process, and the server's end of its streams. */
final class Wiring {
    private static final Duration PATIENCE = Duration.ofMinutes(2);

    private final Pipe toHost = new Pipe();
    private final Pipe toServer = new Pipe();
    private final FrameWriter writer = new FrameWriter(toHost.out);
    private final ConcurrentHashMap<Long, CompletableFuture<Frame>> waiting = new ConcurrentHashMap<>();
    private final AtomicLong ids = new AtomicLong();
    private final FakeServer server;
    private final Duration timeout;
    /** Why requests are not answered any more; null if they are. */
    private volatile String failure;
    private final Thread host;
    private final Thread reader;

    Wiring(FakeServer server, Duration timeout) {
        this.server = server;
        this.timeout = timeout;
        Host running = new Host(toHost.in, toServer.out, status -> {});
        host = Thread.ofPlatform().daemon().name("plugin host").start(() -> {
            try {
                running.run();
            } catch (IOException e) {
                fail("the host failed: " + e);
            } finally {
                toServer.close();
            }
        });
        reader = Thread.ofPlatform().daemon().name("plugin host answers").start(this::read);
    }

    private void read() {
        FrameReader in = new FrameReader(toServer.in);
        try {
            for (Frame f = in.read(); f != null; f = in.read()) {
                handle(f);
            }
        } catch (IOException e) {
            fail("the host failed: " + e);
        }
        fail("the host has ended");
    }

    private void fail(String message) {
        failure = message;
        waiting.forEach((id, future) -> future.completeExceptionally(new PluginFailure(message, "", "")));
    }

    private void handle(Frame f) {
        switch (f.kind()) {
            case Frame.RESULT, Frame.ERROR, Frame.READY -> {
                CompletableFuture<Frame> future = waiting.remove(f.id());
                if (future != null) {
                    future.complete(f);
                }
            }
            case Frame.LOG -> server.log(f.body());
            case Frame.ASK -> Thread.ofVirtual().start(() -> answer(f));
            default -> { }
        }
    }

    private void answer(Frame f) {
        Out out = new Out();
        int kind = Frame.RESULT;
        try {
            server.ask(f.body(), out);
        } catch (RuntimeException e) {
            kind = Frame.ERROR;
            out = new Out();
            AppException refusal = e instanceof AppException refused ? refused : null;
            out.zigzag(refusal == null ? 0 : refusal.code());
            out.string(refusal == null ? e.toString() : refusal.reason() == null ? "" : refusal.reason());
            out.string("");
            out.string("");
        }
        send(kind, f.id(), out);
    }

    private void send(int kind, long id, Out body) {
        try {
            writer.send(kind, id, body);
        } catch (IOException e) {
            throw new PluginFailure("the host has ended: " + e.getMessage(), "", "");
        }
    }

    void hello(Node node) {
        Out out = new Out();
        out.u32(Frame.VERSION);
        out.string(Dispatch.FINGERPRINT);
        out.string(node.id());
        out.string(node.role());
        out.string(node.version());
        out.number(0);
        out.bool(false);
        request(Frame.HELLO, out);
    }

    /**
     * Sends a request and waits for its response. The time limit of the test applies to calls only;
     * other requests time out after {@link #PATIENCE}.
     */
    In request(int kind, Out body) {
        return request(kind == Frame.CALL ? timeout : PATIENCE, kind, ids.incrementAndGet(), body);
    }

    /**
     * Sends a call of an endpoint, whose content is written to a stream, and waits for its
     * response.
     */
    In request(int kind, Out body, OutputStream content) {
        long id = ids.incrementAndGet();
        server.open(id, content);
        try {
            return request(timeout, kind, id, body);
        } finally {
            server.close(id);
        }
    }

    private In request(Duration limit, int kind, long id, Out body) {
        CompletableFuture<Frame> future = new CompletableFuture<>();
        waiting.put(id, future);
        if (failure != null) {
            waiting.remove(id);
            throw new PluginFailure(failure, "", "");
        }
        send(kind, id, body);
        Frame f;
        try {
            f = future.get(limit.toMillis(), TimeUnit.MILLISECONDS);
        } catch (TimeoutException e) {
            waiting.remove(id);
            send(Frame.CANCEL, id, new Out());
            throw new PluginFailure("the plugin did not answer within " + limit.toMillis() + " ms", "", "");
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new PluginFailure("the test was interrupted while the plugin ran", "", "");
        } catch (ExecutionException e) {
            throw e.getCause() instanceof PluginFailure failure ? failure : new PluginFailure(String.valueOf(e.getCause()), "", "");
        }
        In in = f.body();
        if (f.kind() != Frame.ERROR) {
            return in;
        }
        int code = in.int32();
        String message = in.string();
        if (code != 0) {
            throw new AppException(code, message.isEmpty() ? null : message);
        }
        throw new PluginFailure(message, in.string(), in.string());
    }

    /** Ends the host and waits for its threads. */
    void close() {
        toHost.close();
        toServer.close();
        try {
            host.join();
            reader.join();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }
}
