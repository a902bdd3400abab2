// SPDX-License-Identifier: Apache-2.0

package im.app.plugin.host.wire;

import java.io.IOException;
import java.io.OutputStream;
import java.util.Arrays;

/**
 * Writes frames of many threads to a stream without a dedicated thread: a sender writes its frame
 * itself if no other thread is writing; frames that are sent meanwhile become part of its next
 * write. The number of waiting bytes is limited, so that a plugin that floods the log waits for the
 * server instead of filling the heap.
 *
 * <p>Interrupts do not affect sending: a cancelled call still responds.
 */
public final class FrameWriter {
    /** The maximum number of bytes waiting for the current write. */
    static final int WAITING_LIMIT = 1 << 20;

    /** A buffer that grew larger than this for one frame is not kept. */
    private static final int KEEP = 1 << 20;

    /** After this many writes for others, a sender hands over to a thread that waits for room. */
    private static final int TURNS = 8;

    private final OutputStream out;
    private final ShortLock lock = new ShortLock();

    // Guarded by the lock, except spare, which only the writing thread uses.
    private byte[] waiting = new byte[8 << 10];
    private byte[] spare = new byte[8 << 10];
    private int size;
    /** The number of senders that wait for room. */
    private int waiters;
    private boolean writing;
    private IOException failure;

    /**
     * Creates a writer.
     *
     * @param out the stream, which is flushed after each write; a write contains whole frames
     */
    public FrameWriter(OutputStream out) {
        this.out = out;
    }

    /**
     * Sends a frame: writes it, or appends it to another thread's next write. Blocks while too many
     * bytes are waiting.
     *
     * @param kind the kind of the frame
     * @param id the number of the request
     * @param body the body, which must not be used afterwards
     * @throws IOException if the stream has failed; nothing can be sent any more
     */
    public void send(int kind, long id, Out body) throws IOException {
        send(kind, id, body, false);
    }

    /**
     * Sends a frame without waiting for room, for threads that must not block.
     *
     * @param kind the kind of the frame
     * @param id the number of the request
     * @param body the body, which must not be used afterwards
     * @throws IOException if the stream has failed; nothing can be sent any more
     */
    public void sendAtOnce(int kind, long id, Out body) throws IOException {
        send(kind, id, body, true);
    }

    /**
     * Waits until everything that was sent is written.
     *
     * @param nanos the time limit, in nanoseconds
     * @return whether it is written
     */
    public boolean flush(long nanos) {
        long begin = System.nanoTime();
        boolean interrupted = false;
        try {
            while (true) {
                lock.lock();
                try {
                    if (!writing && size == 0) {
                        return true;
                    }
                    if (failure != null) {
                        return false;
                    }
                } finally {
                    lock.unlock();
                }
                if (System.nanoTime() - begin >= nanos) {
                    return false;
                }
                interrupted |= ShortLock.pause();
            }
        } finally {
            if (interrupted) {
                Thread.currentThread().interrupt();
            }
        }
    }

    private void send(int kind, long id, Out body, boolean atOnce) throws IOException {
        byte[] frame = body.frame(kind, id);
        int n = body.frameSize();
        boolean interrupted = false;
        boolean waited = false;
        try {
            while (true) {
                lock.lock();
                try {
                    check();
                    if (!writing && size == 0) {
                        writing = true;
                        break;
                    }
                    if (atOnce || !writing || size == 0 || size + n <= WAITING_LIMIT) {
                        append(frame, n);
                        waiters -= waited ? 1 : 0;
                        waited = false;
                        if (writing) {
                            return;
                        }
                        writing = true;
                        frame = null;
                        break;
                    }
                    waiters += waited ? 0 : 1;
                    waited = true;
                } finally {
                    lock.unlock();
                }
                interrupted |= ShortLock.pause();
            }
        } finally {
            if (waited) {
                lock.lock();
                waiters--;
                lock.unlock();
            }
            if (interrupted) {
                Thread.currentThread().interrupt();
            }
        }
        write(frame, n);
    }

    /** Appends a frame to the waiting ones. Called with the lock held. */
    private void append(byte[] frame, int n) {
        if (n > waiting.length - size) {
            waiting = Arrays.copyOf(waiting, Math.max(size + n, 2 * waiting.length));
        }
        System.arraycopy(frame, 0, waiting, size, n);
        size += n;
    }

    /**
     * Puts frames back in front of the waiting ones after a stack overflow. None of them was
     * written.
     */
    private void putBack(byte[] part, int partSize) {
        lock.lock();
        try {
            byte[] both = Arrays.copyOf(part, partSize + size);
            System.arraycopy(waiting, 0, both, partSize, size);
            spare = waiting;
            waiting = both;
            size += partSize;
        } finally {
            lock.unlock();
        }
    }

    private void check() throws IOException {
        if (failure != null) {
            throw new IOException("the stream to the server is closed", failure);
        }
    }

    /**
     * Writes a frame, unless it is null, and then the waiting ones until none are left or another
     * thread takes over.
     */
    private void write(byte[] frame, int n) throws IOException {
        boolean passed = false;
        IOException failed = null;
        try {
            if (frame != null) {
                out.write(frame, 0, n);
                out.flush();
            }
            for (int turn = 0;; turn++) {
                byte[] part;
                int partSize;
                lock.lock();
                try {
                    if (size == 0 || turn >= TURNS && waiters > 0) {
                        writing = false;
                        passed = true;
                        return;
                    }
                    part = waiting;
                    partSize = size;
                    waiting = spare;
                    spare = null;
                    size = 0;
                } finally {
                    lock.unlock();
                }
                try {
                    out.write(part, 0, partSize);
                    out.flush();
                } catch (VirtualMachineError e) {
                    putBack(part, partSize);
                    throw e;
                }
                spare = part.length <= KEEP ? part : new byte[8 << 10];
            }
        } catch (IOException e) {
            failed = e;
            throw e;
        } finally {
            if (!passed) {
                // The stream failed, or the stack of this thread or the memory is exhausted: other
                // threads must be able to continue.
                lock.lock();
                try {
                    writing = false;
                    if (failure == null) {
                        failure = failed;
                    }
                } finally {
                    lock.unlock();
                }
            }
        }
    }
}
