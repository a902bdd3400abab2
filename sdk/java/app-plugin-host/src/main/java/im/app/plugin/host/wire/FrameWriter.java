// SPDX-License-Identifier: Apache-2.0

package im.app.plugin.host.wire;

import java.io.IOException;
import java.io.OutputStream;
import java.util.Arrays;

/**
 * Writes frames to a stream for many threads, without a thread of its own: whoever sends while nobody writes writes, and
 * what others send meanwhile rides along with the next write. What waits is bounded, so that a plugin that floods the log
 * waits for the server instead of filling the heap.
 *
 * <p>Sending is not disturbed by interrupts: a cancelled call still answers.
 */
public final class FrameWriter {
    /** How many bytes may wait behind those that are being written. */
    static final int WAITING_LIMIT = 1 << 20;

    /** A buffer that grew larger than this for one frame is not kept. */
    private static final int KEEP = 1 << 20;

    /** After so many writes for others a sender hands the writing over to whoever waits for room. */
    private static final int TURNS = 8;

    private final OutputStream out;
    private final ShortLock lock = new ShortLock();

    // All of these are guarded by the lock.
    private byte[] waiting = new byte[8 << 10];
    private byte[] spare = new byte[8 << 10];
    private int size;
    /** How many senders wait for room. */
    private int waiters;
    private boolean writing;
    private IOException failure;

    /**
     * Writes to a stream.
     *
     * @param out the stream; each write of it is whole, and it is flushed after each
     */
    public FrameWriter(OutputStream out) {
        this.out = out;
    }

    /**
     * Sends a frame. It returns when the frame is written or is sure to be written next by another thread, and waits for
     * that as long as too much is waiting.
     *
     * @param kind the kind of the frame
     * @param id the number of the request
     * @param body the body, which must not be used any more
     * @throws IOException if the stream has failed; nothing can be sent any more
     */
    public void send(int kind, long id, Out body) throws IOException {
        send(kind, id, body, false);
    }

    /**
     * Sends a frame without waiting for room, for threads that must not wait.
     *
     * @param kind the kind of the frame
     * @param id the number of the request
     * @param body the body, which must not be used any more
     * @throws IOException if the stream has failed; nothing can be sent any more
     */
    public void sendAtOnce(int kind, long id, Out body) throws IOException {
        send(kind, id, body, true);
    }

    /**
     * Waits until everything that was sent is written.
     *
     * @param nanos how long to wait at most, in nanoseconds
     * @return whether it is
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

    /** Puts a frame behind those that wait. The lock is held. */
    private void append(byte[] frame, int n) {
        if (n > waiting.length - size) {
            waiting = Arrays.copyOf(waiting, Math.max(size + n, 2 * waiting.length));
        }
        System.arraycopy(frame, 0, waiting, size, n);
        size += n;
    }

    /** Lets others write what this thread had no stack left to write: nothing of it was written. */
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

    /** Writes a frame, unless it is null, and then what waits, until nothing waits or somebody else goes on. */
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
                } catch (StackOverflowError e) {
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
                // The stream failed, or the stack of this thread did not suffice: others must be able to go on.
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
