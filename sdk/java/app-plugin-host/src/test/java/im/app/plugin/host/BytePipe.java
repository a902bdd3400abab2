// SPDX-License-Identifier: Apache-2.0

package im.app.plugin.host;

import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;

/** An in-process pipe that, like a pipe of the system, is not affected by interrupts. */
final class BytePipe {
    private final byte[] buffer;
    private final Object lock = new Object();
    private int from;
    private int size;
    private boolean closed;

    BytePipe(int capacity) {
        buffer = new byte[capacity];
    }

    final InputStream in = new InputStream() {
        @Override
        public int read() throws IOException {
            byte[] b = new byte[1];
            return read(b, 0, 1) < 0 ? -1 : b[0] & 0xff;
        }

        @Override
        public int read(byte[] b, int at, int n) {
            if (n == 0) {
                return 0;
            }
            synchronized (lock) {
                while (size == 0) {
                    if (closed) {
                        return -1;
                    }
                    await();
                }
                int got = Math.min(Math.min(n, size), buffer.length - from);
                System.arraycopy(buffer, from, b, at, got);
                from = (from + got) % buffer.length;
                size -= got;
                lock.notifyAll();
                return got;
            }
        }

        @Override
        public void close() {
            BytePipe.this.close();
        }
    };

    final OutputStream out = new OutputStream() {
        @Override
        public void write(int b) throws IOException {
            write(new byte[] {(byte) b}, 0, 1);
        }

        @Override
        public void write(byte[] b, int at, int n) throws IOException {
            synchronized (lock) {
                for (int done = 0; done < n;) {
                    while (size == buffer.length && !closed) {
                        await();
                    }
                    if (closed) {
                        throw new IOException("the pipe is closed");
                    }
                    int to = (from + size) % buffer.length;
                    int put = Math.min(Math.min(n - done, buffer.length - size), buffer.length - to);
                    System.arraycopy(b, at + done, buffer, to, put);
                    size += put;
                    done += put;
                    lock.notifyAll();
                }
            }
        }
    };

    /** Waits for a change, ignoring interrupts. */
    private void await() {
        try {
            lock.wait();
        } catch (InterruptedException e) {
            pause();
            Thread.currentThread().interrupt();
        }
    }

    private void pause() {
        try {
            lock.wait(1);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    void close() {
        synchronized (lock) {
            closed = true;
            lock.notifyAll();
        }
    }
}
