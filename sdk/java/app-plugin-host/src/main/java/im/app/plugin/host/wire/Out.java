// SPDX-License-Identifier: Apache-2.0

package im.app.plugin.host.wire;

import com.google.protobuf.CodedOutputStream;
import com.google.protobuf.MessageLite;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.time.Instant;
import java.util.Arrays;

/**
 * Builds a frame: room for the header, followed by the values of the body. Not safe for concurrent
 * use. A frame larger than {@link Frame#LIMIT} causes a {@link ProtocolException} before memory is
 * allocated for it.
 */
public final class Out {
    private byte[] data;
    private int at;

    /** Creates an empty body. */
    public Out() {
        this(512);
    }

    /**
     * Creates an empty body.
     *
     * @param expected the expected size of the body, in bytes
     */
    public Out(int expected) {
        data = new byte[Frame.HEADER + Math.min(Math.max(expected, 16), Frame.LIMIT)];
        at = Frame.HEADER;
    }

    /**
     * Returns the size of the body so far.
     *
     * @return the number of bytes
     */
    public int size() {
        return at - Frame.HEADER;
    }

    /** Clears the body. */
    public void reset() {
        at = Frame.HEADER;
    }

    /**
     * Copies the body.
     *
     * @return a new array
     */
    public byte[] toByteArray() {
        return Arrays.copyOfRange(data, Frame.HEADER, at);
    }

    /**
     * Fills in the header. The frame is then the first {@link #frameSize()} bytes of the result.
     */
    byte[] frame(int kind, long id) {
        int n = at - 4;
        putInt(0, n);
        data[4] = (byte) kind;
        putInt(5, (int) (id >>> 32));
        putInt(9, (int) id);
        return data;
    }

    int frameSize() {
        return at;
    }

    private void putInt(int i, int v) {
        data[i] = (byte) (v >>> 24);
        data[i + 1] = (byte) (v >>> 16);
        data[i + 2] = (byte) (v >>> 8);
        data[i + 3] = (byte) v;
    }

    private void room(int n) {
        if (n > data.length - at) {
            long wanted = (long) at + n;
            if (wanted - 4 > Frame.LIMIT) {
                throw new ProtocolException("frame of more than " + Frame.LIMIT + " bytes, the most that fits");
            }
            data = Arrays.copyOf(data, (int) Math.max(wanted, Math.min(2L * data.length, Frame.LIMIT + 4L)));
        }
    }

    /**
     * Writes a byte.
     *
     * @param v 0 to 255
     */
    public void u8(int v) {
        room(1);
        data[at++] = (byte) v;
    }

    /**
     * Writes four bytes in big-endian order.
     *
     * @param v the number
     */
    public void u32(int v) {
        room(4);
        putInt(at, v);
        at += 4;
    }

    /**
     * Writes eight bytes in big-endian order.
     *
     * @param v the number
     */
    public void u64(long v) {
        u32((int) (v >>> 32));
        u32((int) v);
    }

    /**
     * Writes a boolean.
     *
     * @param v the value
     */
    public void bool(boolean v) {
        u8(v ? 1 : 0);
    }

    /**
     * Writes whether a value follows.
     *
     * @param present whether a value follows
     */
    public void optional(boolean present) {
        bool(present);
    }

    private void varint(long v) {
        room(10);
        while ((v & ~0x7fL) != 0) {
            data[at++] = (byte) (v | 0x80);
            v >>>= 7;
        }
        data[at++] = (byte) v;
    }

    /**
     * Writes an integer.
     *
     * @param v the number
     */
    public void zigzag(long v) {
        varint(v << 1 ^ v >> 63);
    }

    /**
     * Writes a 32-bit integer.
     *
     * @param v the number
     */
    public void int32(int v) {
        zigzag(v);
    }

    /**
     * Writes a number of elements.
     *
     * @param n the number
     */
    public void count(int n) {
        varint(n);
    }

    /**
     * Writes an identifying number, for example of a module or an extension.
     *
     * @param n the number, not negative
     */
    public void number(int n) {
        varint(n);
    }

    /**
     * Writes text.
     *
     * @param v the text
     */
    public void string(String v) {
        // UTF-8 has at least one byte per char: text that is too long fails before it is encoded.
        room(v.length());
        bytes(v.getBytes(StandardCharsets.UTF_8));
    }

    /**
     * Writes bytes.
     *
     * @param v the bytes
     */
    public void bytes(byte[] v) {
        varint(v.length);
        room(v.length);
        System.arraycopy(v, 0, data, at, v.length);
        at += v.length;
    }

    /**
     * Writes bytes without their length, such as a body that was built elsewhere.
     *
     * @param v the bytes
     */
    public void raw(byte[] v) {
        room(v.length);
        System.arraycopy(v, 0, data, at, v.length);
        at += v.length;
    }

    /**
     * Writes a 32-bit floating-point number.
     *
     * @param v the number
     */
    public void float32(float v) {
        u32(Float.floatToRawIntBits(v));
    }

    /**
     * Writes a 64-bit floating-point number.
     *
     * @param v the number
     */
    public void float64(double v) {
        u64(Double.doubleToRawLongBits(v));
    }

    /**
     * Writes a time, truncated to milliseconds.
     *
     * @param v the time
     */
    public void instant(Instant v) {
        zigzag(v.toEpochMilli());
    }

    /**
     * Writes an optional protobuf message.
     *
     * @param v the message; null for none
     */
    public void message(MessageLite v) {
        optional(v != null);
        if (v == null) {
            return;
        }
        int n = v.getSerializedSize();
        varint(n);
        room(n);
        CodedOutputStream out = CodedOutputStream.newInstance(data, at, n);
        try {
            v.writeTo(out);
        } catch (IOException e) {
            throw new UncheckedIOException("write a protobuf message of " + n + " bytes", e);
        }
        at += n;
    }
}
