// SPDX-License-Identifier: Apache-2.0

package im.app.plugin.host;

import im.app.plugin.AppException;
import im.app.plugin.host.wire.Frame;
import im.app.plugin.host.wire.FrameWriter;
import im.app.plugin.host.wire.In;
import im.app.plugin.host.wire.Out;
import im.app.plugin.host.wire.StackRoom;
import java.io.IOException;
import java.util.concurrent.CancellationException;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.LockSupport;

/** The requests of plugins to the server. */
final class ServerRequests {
    private static final class Waiting {
        final Thread thread = Thread.currentThread();
        volatile Frame answer;
    }

    private final FrameWriter writer;
    private final AtomicLong ids = new AtomicLong();
    private final ConcurrentHashMap<Long, Waiting> waiting = new ConcurrentHashMap<>();
    private volatile boolean closed;

    ServerRequests(FrameWriter writer) {
        this.writer = writer;
    }

    /**
     * Sends a request and waits for its response.
     *
     * @param kind ASK or FUNCTION
     * @param body the request
     * @return the body of the response
     * @throws AppException if the server refuses with a code
     * @throws IllegalStateException if it fails for another reason
     * @throws CancellationException if the thread is interrupted meanwhile; it stays interrupted
     */
    In ask(int kind, Out body) {
        StackRoom.ensure();
        Waiting w = new Waiting();
        long id = ids.incrementAndGet();
        waiting.put(id, w);
        try {
            if (closed) {
                throw new IllegalStateException("the server is gone");
            }
            try {
                writer.send(kind, id, body);
            } catch (IOException e) {
                throw new IllegalStateException("the server is gone", e);
            }
            while (w.answer == null) {
                LockSupport.park(this);
                if (w.answer == null && closed) {
                    throw new IllegalStateException("the server is gone");
                }
                if (w.answer == null && Thread.interrupted()) {
                    Thread.currentThread().interrupt();
                    throw new CancellationException("the call was cancelled while the server was asked for something");
                }
            }
        } finally {
            waiting.remove(id);
        }
        In in = w.answer.body();
        if (w.answer.kind() == Frame.RESULT) {
            return in;
        }
        int code = in.int32();
        String message = in.string();
        if (code != 0) {
            throw new AppException(code, message.isEmpty() ? null : message);
        }
        throw new IllegalStateException(message);
    }

    /**
     * Passes a response of the server to the waiting thread. Drops the response if there is none.
     */
    void answer(Frame f) {
        Waiting w = waiting.get(f.id());
        if (w != null) {
            w.answer = f;
            LockSupport.unpark(w.thread);
        }
    }

    /** Fails all waiting and later requests. */
    void close() {
        closed = true;
        for (Waiting w : waiting.values()) {
            LockSupport.unpark(w.thread);
        }
    }
}
