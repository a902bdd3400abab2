// SPDX-License-Identifier: Apache-2.0

package im.app.plugin.host.wire;

import com.google.protobuf.InvalidProtocolBufferException;
import com.google.protobuf.MessageLite;
import com.google.protobuf.Parser;
import java.nio.charset.StandardCharsets;
import java.time.Instant;

/**
 * Reads the values of a frame's body in order. Not safe for concurrent use. Every method throws a
 * {@link ProtocolException} if the bytes end too early or are invalid; a length is checked against
 * the remaining bytes before memory is allocated for it.
 */
public final class In {
    private static final byte[] NO_BYTES = {};

    private final byte[] data;
    private final int end;
    private int at;

    /**
     * Creates a reader of a whole array.
     *
     * @param data the bytes, which must not change any more
     */
    public In(byte[] data) {
        this(data, 0, data.length);
    }

    /**
     * Creates a reader of a part of an array.
     *
     * @param data the bytes, which must not change any more
     * @param from the index of the first byte
     * @param end the index after the last byte
     */
    public In(byte[] data, int from, int end) {
        if (from < 0 || end < from || end > data.length) {
            throw new ProtocolException("part " + from + " to " + end + " of " + data.length + " bytes");
        }
        this.data = data;
        this.at = from;
        this.end = end;
    }

    /**
     * Returns the number of remaining bytes.
     *
     * @return the number of bytes that were not read yet
     */
    public int remaining() {
        return end - at;
    }

    /**
     * Reads a byte.
     *
     * @return 0 to 255
     */
    public int u8() {
        need(1);
        return data[at++] & 0xff;
    }

    /**
     * Reads four bytes in big-endian order.
     *
     * @return the number; those from 2<sup>31</sup> are negative
     */
    public int u32() {
        need(4);
        int v = (data[at] & 0xff) << 24 | (data[at + 1] & 0xff) << 16 | (data[at + 2] & 0xff) << 8 | data[at + 3] & 0xff;
        at += 4;
        return v;
    }

    /**
     * Reads eight bytes in big-endian order.
     *
     * @return the number
     */
    public long u64() {
        long high = u32();
        return high << 32 | u32() & 0xffffffffL;
    }

    /**
     * Reads a boolean.
     *
     * @return the value
     */
    public boolean bool() {
        int v = u8();
        if (v > 1) {
            throw new ProtocolException("truth value " + v + ", which is neither 0 nor 1");
        }
        return v == 1;
    }

    /**
     * Reads whether a value follows.
     *
     * @return whether a value follows
     */
    public boolean optional() {
        return bool();
    }

    private long varint() {
        long v = 0;
        for (int shift = 0; shift < 64; shift += 7) {
            if (at >= end) {
                throw ended(1);
            }
            byte b = data[at++];
            v |= (long) (b & 0x7f) << shift;
            if (b >= 0) {
                return v;
            }
        }
        throw new ProtocolException("number of more than 64 bits");
    }

    /**
     * Reads an integer.
     *
     * @return the number
     */
    public long zigzag() {
        long v = varint();
        return v >>> 1 ^ -(v & 1);
    }

    /**
     * Reads a 32-bit integer.
     *
     * @return the number
     */
    public int int32() {
        long v = zigzag();
        if (v != (int) v) {
            throw new ProtocolException("number " + v + ", which has more than 32 bits");
        }
        return (int) v;
    }

    /**
     * Reads a number of elements, each of which needs at least one byte.
     *
     * @return the number
     */
    public int count() {
        long v = varint();
        if (v < 0 || v > end - at) {
            throw new ProtocolException("length " + Long.toUnsignedString(v) + " with " + (end - at) + " bytes left");
        }
        return (int) v;
    }

    /**
     * Reads an identifying number, for example of a module or an extension.
     *
     * @return the number, not negative
     */
    public int number() {
        long v = varint();
        if (v < 0 || v > Integer.MAX_VALUE) {
            throw new ProtocolException("number " + Long.toUnsignedString(v) + ", which has more than 31 bits");
        }
        return (int) v;
    }

    /**
     * Reads text.
     *
     * @return the text
     */
    public String string() {
        int n = count();
        String s = new String(data, at, n, StandardCharsets.UTF_8);
        at += n;
        return s;
    }

    /**
     * Reads bytes.
     *
     * @return the bytes, which do not share memory with the frame
     */
    public byte[] bytes() {
        int n = count();
        if (n == 0) {
            return NO_BYTES;
        }
        byte[] b = new byte[n];
        System.arraycopy(data, at, b, 0, n);
        at += n;
        return b;
    }

    /**
     * Reads a 32-bit floating-point number.
     *
     * @return the number
     */
    public float float32() {
        return Float.intBitsToFloat(u32());
    }

    /**
     * Reads a 64-bit floating-point number.
     *
     * @return the number
     */
    public double float64() {
        return Double.longBitsToDouble(u64());
    }

    /**
     * Reads a time.
     *
     * @return the time, with a precision of milliseconds
     */
    public Instant instant() {
        return Instant.ofEpochMilli(zigzag());
    }

    /**
     * Reads an optional protobuf message.
     *
     * @param parser the parser of its type
     * @param <T> its type
     * @return the message; null if there is none
     */
    public <T extends MessageLite> T message(Parser<T> parser) {
        if (!optional()) {
            return null;
        }
        int n = count();
        try {
            T m = parser.parseFrom(data, at, n);
            at += n;
            return m;
        } catch (InvalidProtocolBufferException e) {
            throw new ProtocolException("protobuf message of " + n + " bytes: " + e.getMessage());
        }
    }

    private void need(int n) {
        if (n > end - at) {
            throw ended(n);
        }
    }

    private ProtocolException ended(int n) {
        return new ProtocolException("value of " + n + " bytes with " + (end - at) + " bytes left");
    }
}
