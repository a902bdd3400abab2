// SPDX-License-Identifier: Apache-2.0

package im.app.plugin.test;

import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;

/**
 * A pipe from any threads to one thread. Unlike {@link java.io.PipedInputStream}, it does not
 * require that the writing threads are still alive.
 */
final class Pipe {
    private final ReentrantLock lock = new ReentrantLock();
    private final Condition changed = lock.newCondition();
    private final byte[] ring = new byte[1 << 16];
    private int from;
    private int length;
    private boolean closed;

    final InputStream in = new InputStream() {
        @Override
        public int read() throws IOException {
            byte[] one = new byte[1];
            return read(one, 0, 1) < 0 ? -1 : one[0] & 0xff;
        }

        @Override
        public int read(byte[] target, int offset, int count) throws IOException {
            lock.lock();
            try {
                while (length == 0 && !closed) {
                    changed.awaitUninterruptibly();
                }
                if (length == 0) {
                    return -1;
                }
                int n = Math.min(count, Math.min(length, ring.length - from));
                System.arraycopy(ring, from, target, offset, n);
                from = (from + n) % ring.length;
                length -= n;
                changed.signalAll();
                return n;
            } finally {
                lock.unlock();
            }
        }
    };

    final OutputStream out = new OutputStream() {
        @Override
        public void write(int b) throws IOException {
            write(new byte[] {(byte) b}, 0, 1);
        }

        @Override
        public void write(byte[] source, int offset, int count) throws IOException {
            lock.lock();
            try {
                int at = offset;
                for (int rest = count; rest > 0; ) {
                    while (length == ring.length && !closed) {
                        changed.awaitUninterruptibly();
                    }
                    if (closed) {
                        throw new IOException("the pipe is closed");
                    }
                    int to = (from + length) % ring.length;
                    int n = Math.min(rest, Math.min(ring.length - length, ring.length - to));
                    System.arraycopy(source, at, ring, to, n);
                    length += n;
                    at += n;
                    rest -= n;
                    changed.signalAll();
                }
            } finally {
                lock.unlock();
            }
        }
    };

    void close() {
        lock.lock();
        try {
            closed = true;
            changed.signalAll();
        } finally {
            lock.unlock();
        }
    }
}
