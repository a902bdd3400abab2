// SPDX-License-Identifier: Apache-2.0

package im.app.plugin.host;

import im.app.plugin.EndpointOutput;
import java.io.IOException;
import java.io.InterruptedIOException;
import java.util.Arrays;
import java.util.Objects;
import java.util.concurrent.CancellationException;

/** Sends the response of an endpoint to the server in blocks. */
final class ContentOutput extends EndpointOutput {
    private static final int BLOCK = 32 << 10;

    /** Sends a block, and returns when the server has accepted it. */
    interface Sink {
        void send(byte[] block);
    }

    private final Sink sink;
    private final byte[] buffer = new byte[BLOCK];
    private int count;
    private boolean closed;

    ContentOutput(Sink sink) {
        this.sink = sink;
    }

    @Override
    public void write(int b) throws IOException {
        checkOpen();
        if (count == BLOCK) {
            flush();
        }
        buffer[count++] = (byte) b;
    }

    @Override
    public void write(byte[] b, int off, int len) throws IOException {
        Objects.checkFromIndexSize(off, len, b.length);
        checkOpen();
        for (int done = 0; done < len;) {
            if (count == BLOCK) {
                flush();
            }
            int n = Math.min(BLOCK - count, len - done);
            System.arraycopy(b, off + done, buffer, count, n);
            count += n;
            done += n;
        }
    }

    private void checkOpen() throws IOException {
        if (closed) {
            throw new IOException("the answer is complete");
        }
    }

    @Override
    public void flush() throws IOException {
        if (count == 0) {
            return;
        }
        byte[] block = Arrays.copyOf(buffer, count);
        count = 0;
        try {
            sink.send(block);
        } catch (CancellationException e) {
            throw (IOException) new InterruptedIOException("the request was cancelled").initCause(e);
        } catch (IllegalStateException e) {
            throw new IOException(e.getMessage(), e);
        }
    }

    @Override
    public void close() throws IOException {
        if (!closed) {
            closed = true;
            flush();
        }
    }
}
