// SPDX-License-Identifier: Apache-2.0

package im.app.plugin.host.wire;

import java.io.EOFException;
import java.io.IOException;
import java.io.InputStream;

/** Splits a stream into frames. Not safe for concurrent use. */
public final class FrameReader {
    private final InputStream in;
    private final byte[] buffer = new byte[64 << 10];
    private int at;
    private int end;

    /**
     * Creates a reader.
     *
     * @param in the stream, which need not be buffered
     */
    public FrameReader(InputStream in) {
        this.in = in;
    }

    /**
     * Reads a frame.
     *
     * @return the frame; null if the stream ended between two frames
     * @throws IOException if the stream fails or ends within a frame
     */
    public Frame read() throws IOException {
        if (!fill(4)) {
            return null;
        }
        int length = new In(buffer, at, end).u32();
        if (length < Frame.HEADER - 4 || length > Frame.LIMIT) {
            throw new ProtocolException("frame of " + Integer.toUnsignedString(length) + " bytes, allowed are "
                    + (Frame.HEADER - 4) + " to " + Frame.LIMIT);
        }
        if (!fill(Frame.HEADER)) {
            throw new EOFException("the stream ended within the header of a frame");
        }
        In header = new In(buffer, at + 4, end);
        int kind = header.u8();
        long id = header.u64();
        at += Frame.HEADER;
        byte[] body = new byte[length - (Frame.HEADER - 4)];
        int have = Math.min(body.length, end - at);
        System.arraycopy(buffer, at, body, 0, have);
        at += have;
        if (in.readNBytes(body, have, body.length - have) < body.length - have) {
            throw new EOFException("the stream ended within a frame of " + length + " bytes");
        }
        return new Frame(kind, id, new In(body));
    }

    /**
     * Fills the buffer with at least n bytes; n is small. Returns false if the stream ended before
     * the first of them.
     */
    private boolean fill(int n) throws IOException {
        if (end - at >= n) {
            return true;
        }
        System.arraycopy(buffer, at, buffer, 0, end - at);
        end -= at;
        at = 0;
        while (end < n) {
            int got = in.read(buffer, end, buffer.length - end);
            if (got < 0) {
                if (end == 0) {
                    return false;
                }
                throw new EOFException("the stream ended within the header of a frame");
            }
            end += got;
        }
        return true;
    }
}
