// SPDX-License-Identifier: Apache-2.0

package im.app.plugin.host.wire;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.EOFException;
import java.io.FilterInputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.time.Instant;
import java.util.HashSet;
import java.util.Random;
import java.util.Set;
import java.util.concurrent.CountDownLatch;
import org.junit.jupiter.api.Test;

class WireTest {
    @Test
    void valuesComeBack() {
        Out out = new Out(0);
        long[] numbers = {0, 1, -1, 63, 64, -64, -65, Integer.MAX_VALUE, Integer.MIN_VALUE, Long.MAX_VALUE, Long.MIN_VALUE};
        for (long n : numbers) {
            out.zigzag(n);
        }
        out.bool(true);
        out.optional(false);
        out.int32(-7);
        out.count(3);
        out.string("\u00e4\u20ac\ud83d\ude00");
        out.bytes(new byte[] {1, 2, 3});
        out.float32(1.5f);
        out.float64(-2.25);
        out.instant(Instant.ofEpochMilli(-5));
        out.u32(-2);
        out.u64(Long.MIN_VALUE + 1);
        out.number(Integer.MAX_VALUE);
        In in = new In(out.toByteArray());
        for (long n : numbers) {
            assertEquals(n, in.zigzag());
        }
        assertTrue(in.bool());
        assertTrue(!in.optional());
        assertEquals(-7, in.int32());
        assertEquals(3, in.count());
        assertEquals("\u00e4\u20ac\ud83d\ude00", in.string());
        assertArrayEquals(new byte[] {1, 2, 3}, in.bytes());
        assertEquals(1.5f, in.float32());
        assertEquals(-2.25, in.float64());
        assertEquals(Instant.ofEpochMilli(-5), in.instant());
        assertEquals(-2, in.u32());
        assertEquals(Long.MIN_VALUE + 1, in.u64());
        assertEquals(Integer.MAX_VALUE, in.number());
        assertEquals(0, in.remaining());
    }

    @Test
    void zigzagIsThatOfProtobuf() {
        Out out = new Out();
        out.zigzag(-1);
        out.zigzag(150);
        assertArrayEquals(new byte[] {1, (byte) 0xac, 2}, out.toByteArray());
    }

    @Test
    void anyBytesEndInAValueOrAProtocolException() {
        Random random = new Random(7);
        for (int i = 0; i < 20_000; i++) {
            byte[] b = new byte[random.nextInt(12)];
            random.nextBytes(b);
            In in = new In(b);
            try {
                while (true) {
                    switch (random.nextInt(8)) {
                        case 0 -> in.bool();
                        case 1 -> in.zigzag();
                        case 2 -> in.string();
                        case 3 -> in.bytes();
                        case 4 -> in.count();
                        case 5 -> in.float64();
                        case 6 -> in.message(im.app.proto.AppRequest.parser());
                        default -> in.int32();
                    }
                }
            } catch (ProtocolException e) {
                assertTrue(!e.getMessage().isEmpty());
            }
        }
    }

    @Test
    void framesThatAreTooLongAreRefusedBeforeTheyAreBuilt() {
        Out out = new Out();
        out.bytes(new byte[Frame.LIMIT - 100]);
        assertThrows(ProtocolException.class, () -> out.bytes(new byte[200]));
        assertThrows(ProtocolException.class, () -> new Out().string("x".repeat(Frame.LIMIT)));
    }

    @Test
    void framesAreCutOutOfTheStream() throws IOException {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        FrameWriter writer = new FrameWriter(bytes);
        byte[] large = new byte[200_000];
        new Random(1).nextBytes(large);
        for (int i = 0; i < 2000; i++) {
            Out out = new Out();
            out.bytes(i % 500 == 0 ? large : new byte[i % 300]);
            writer.send(i % 17, i, out);
        }
        FrameReader reader = new FrameReader(new FilterInputStream(new ByteArrayInputStream(bytes.toByteArray())) {
            private int reads;

            @Override
            public int read(byte[] b, int from, int n) throws IOException {
                return super.read(b, from, Math.min(n, 1 + reads++ % 1000));
            }
        });
        for (int i = 0; i < 2000; i++) {
            Frame f = reader.read();
            assertEquals(i % 17, f.kind());
            assertEquals(i, f.id());
            assertArrayEquals(i % 500 == 0 ? large : new byte[i % 300], f.body().bytes());
        }
        assertNull(reader.read());
    }

    @Test
    void brokenStreamsAreNamed() {
        assertThrows(EOFException.class, () -> new FrameReader(new ByteArrayInputStream(new byte[] {0, 0})).read());
        assertThrows(EOFException.class, () -> new FrameReader(new ByteArrayInputStream(new byte[] {0, 0, 0, 20, 1})).read());
        assertThrows(EOFException.class, () -> new FrameReader(new ByteArrayInputStream(new byte[] {0, 0, 0, 20, 1, 0, 0, 0, 0, 0, 0, 0, 1, 5})).read());
        assertThrows(ProtocolException.class, () -> new FrameReader(new ByteArrayInputStream(new byte[] {0, 0, 0, 3, 1, 1, 1})).read());
        assertThrows(ProtocolException.class, () -> new FrameReader(new ByteArrayInputStream(new byte[] {-1, 0, 0, 0, 1, 1, 1})).read());
    }

    /** Counts its writes, and blocks them on request. */
    private static final class Held extends OutputStream {
        final ByteArrayOutputStream all = new ByteArrayOutputStream();
        final CountDownLatch entered = new CountDownLatch(1);
        final CountDownLatch released = new CountDownLatch(1);
        int writes;

        @Override
        public void write(int b) {
            throw new AssertionError("frames are written whole");
        }

        @Override
        public void write(byte[] b, int from, int n) {
            entered.countDown();
            boolean interrupted = false;
            while (true) {
                try {
                    released.await();
                    break;
                } catch (InterruptedException e) {
                    interrupted = true;
                }
            }
            if (interrupted) {
                Thread.currentThread().interrupt();
            }
            writes++;
            all.write(b, from, n);
        }
    }

    private static void send(FrameWriter writer, long id, int size) {
        Out out = new Out();
        out.bytes(new byte[size]);
        try {
            writer.send(1, id, out);
        } catch (IOException e) {
            throw new IllegalStateException(e);
        }
    }

    @Test
    void framesRideAlongAndSendersAreHeldBack() throws Exception {
        Held stream = new Held();
        FrameWriter writer = new FrameWriter(stream);
        Thread first = Thread.ofVirtual().start(() -> send(writer, 1, 10));
        stream.entered.await();
        for (int i = 2; i <= 100; i++) {
            send(writer, i, 10);
        }
        Set<Thread> blocked = new HashSet<>();
        for (int i = 0; i < 20; i++) {
            int id = 101 + i;
            blocked.add(Thread.ofVirtual().start(() -> send(writer, id, 300_000)));
        }
        // Three of them fit into the waiting bytes.
        while (blocked.stream().filter(Thread::isAlive).count() > 17) {
            Thread.onSpinWait();
        }
        blocked.forEach(Thread::interrupt);
        stream.released.countDown();
        first.join();
        for (Thread t : blocked) {
            t.join();
        }
        assertTrue(writer.flush(Long.MAX_VALUE));
        Set<Long> ids = new HashSet<>();
        FrameReader reader = new FrameReader(new ByteArrayInputStream(stream.all.toByteArray()));
        for (Frame f = reader.read(); f != null; f = reader.read()) {
            ids.add(f.id());
        }
        assertEquals(120, ids.size());
        assertTrue(stream.writes < 30, stream.writes + " writes");
    }

    @Test
    void manySendersLoseNothing() throws Exception {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        FrameWriter writer = new FrameWriter(bytes);
        Set<Thread> threads = new HashSet<>();
        for (int t = 0; t < 50; t++) {
            int from = t * 200;
            threads.add(Thread.ofVirtual().start(() -> {
                for (int i = 0; i < 200; i++) {
                    send(writer, from + i + 1, (from + i) % 700);
                }
            }));
        }
        for (Thread t : threads) {
            t.join();
        }
        assertTrue(writer.flush(Long.MAX_VALUE));
        Set<Long> ids = new HashSet<>();
        FrameReader reader = new FrameReader(new ByteArrayInputStream(bytes.toByteArray()));
        for (Frame f = reader.read(); f != null; f = reader.read()) {
            assertEquals((f.id() - 1) % 700, f.body().bytes().length);
            ids.add(f.id());
        }
        assertEquals(10_000, ids.size());
    }

    @Test
    void aFailedStreamFailsAllSenders() {
        FrameWriter writer = new FrameWriter(new OutputStream() {
            @Override
            public void write(int b) throws IOException {
                throw new IOException("broken");
            }
        });
        assertThrows(IOException.class, () -> writer.send(1, 1, new Out()));
        assertEquals("the stream to the server is closed", assertThrows(IOException.class, () -> writer.send(1, 2, new Out())).getMessage());
    }
}
