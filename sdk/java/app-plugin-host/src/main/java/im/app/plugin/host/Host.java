// SPDX-License-Identifier: Apache-2.0

package im.app.plugin.host;

import im.app.plugin.Node;
import im.app.plugin.host.generated.Dispatch;
import im.app.plugin.host.load.PluginClasses;
import im.app.plugin.host.load.PluginLoader;
import im.app.plugin.host.log.Log;
import im.app.plugin.host.log.Memory;
import im.app.plugin.host.log.NoMemory;
import im.app.plugin.host.object.JavaObjects;
import im.app.plugin.host.wire.Frame;
import im.app.plugin.host.wire.FrameReader;
import im.app.plugin.host.wire.FrameWriter;
import im.app.plugin.host.wire.In;
import im.app.plugin.host.wire.Out;
import im.app.plugin.host.wire.ProtocolException;
import im.app.plugin.host.wire.StackRoom;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;
import java.util.function.IntConsumer;

/**
 * Does what the server says: one thread reads its requests, and each request is worked on by a thread of its own, a
 * virtual one where the code of plugins runs.
 */
public final class Host {
    private static final int DEFAULT_PENDING = 10_000;

    /** How long the end of the process waits for the last frames to be written, in nanoseconds. */
    private static final long FLUSH = 1_000_000_000L;

    private final FrameReader reader;
    private final FrameWriter writer;
    private final IntConsumer halt;
    private final Calls calls = new Calls();
    private final AtomicInteger pending = new AtomicInteger();
    private final Asks asks;
    private final Usage usage = new Usage(calls);
    private final Modules modules = new Modules(this);
    private final JavaObjects objects;
    private final Threads threads = new Threads(calls);
    private final Watchdog watchdog;
    private final Object recordLock = new Object();
    private volatile Recordings recordings;
    private volatile int pendingLimit = DEFAULT_PENDING;
    private volatile Node node;
    private volatile boolean severalNodes;
    /** The least important level that the server logs. */
    private volatile int level = Log.DEBUG;
    private volatile boolean stopping;

    /**
     * Makes a host that talks over two streams.
     *
     * @param in what the server says
     * @param out what the server gets
     * @param halt ends the process at once with a status, when the server wants that
     */
    public Host(InputStream in, OutputStream out, IntConsumer halt) {
        reader = new FrameReader(in);
        writer = new FrameWriter(out);
        this.halt = halt;
        asks = new Asks(writer);
        objects = new JavaObjects(PluginClasses.server(), asks::ask, this::tell);
        watchdog = new Watchdog(calls, new VirtualThreadScheduler(), message -> log(0, Log.WARN, "watchdog", message, null));
    }

    /**
     * Works until the server closes its stream. Plugins that are still loaded then are left as they are.
     *
     * @throws IOException if a stream fails
     */
    public void run() throws IOException {
        watchdog.start();
        try {
            for (Frame f = reader.read(); f != null; f = reader.read()) {
                handle(f);
            }
        } finally {
            watchdog.stop();
            asks.close();
        }
    }

    Asks asks() {
        return asks;
    }

    Calls calls() {
        return calls;
    }

    Usage usage() {
        return usage;
    }

    Threads threads() {
        return threads;
    }

    Node node() {
        return node;
    }

    /** Tells whether the process is a node for each of its roles, so that it depends on the call which one a plugin runs for. */
    boolean severalNodes() {
        return severalNodes;
    }

    /** Waits until the server has ended the process. It never returns. */
    void awaitEnd() {
        while (true) {
            LockSupport.park(this);
        }
    }

    /** Reports whether the server has asked the host to end. */
    boolean stopping() {
        return stopping;
    }

    /**
     * Writes a line to the log of the server. What cannot be sent is dropped: there is nobody to tell.
     *
     * @param module the plugin that writes, 0 if it is none
     * @param level one of the constants of {@link Log}
     * @param logger who writes
     * @param message what
     * @param thrown what was thrown, or null
     */
    public void log(int module, int level, String logger, String message, Throwable thrown) {
        if (!logs(level)) {
            return;
        }
        StackRoom.ensure();
        Out out = new Out();
        out.number(module);
        out.u8(level);
        out.string(Errors.shorten(String.valueOf(logger)));
        out.string(Errors.shorten(String.valueOf(message)));
        out.string(thrown == null ? "" : Errors.stack(thrown, modules.loader(module)));
        try {
            writer.send(Frame.LOG, 0, out);
        } catch (IOException e) {
            // The server is gone, and this process is about to end.
        }
    }

    /** Tells whether the server logs lines of a level. */
    boolean logs(int line) {
        return line <= level;
    }

    /** Tells the server that a plugin ends the process. */
    void sendExit(int status, int module) {
        Out out = new Out();
        out.zigzag(status);
        out.number(module);
        try {
            writer.sendAtOnce(Frame.EXIT, 0, out);
            writer.flush(FLUSH);
        } catch (IOException e) {
            // The server sees that its pipe is closed.
        }
    }

    /** Tells the server which plugin is about to end the process without any order. */
    void sendCulprit(int module, String how) {
        Out out = new Out();
        out.number(module);
        out.string(how);
        try {
            writer.sendAtOnce(Frame.CULPRIT, 0, out);
            writer.flush(FLUSH);
        } catch (IOException e) {
            // The server sees that its pipe is closed.
        }
    }

    /** Tells the server that an exception ended a thread of a plugin. */
    void sendUncaught(int module, String how) {
        Out out = new Out();
        out.number(module);
        out.string(Errors.shorten(how));
        try {
            writer.send(Frame.UNCAUGHT, 0, out);
        } catch (IOException e) {
            // The server sees that its pipe is closed.
        }
    }

    private void handle(Frame f) {
        try {
            In in = f.body();
            switch (f.kind()) {
                case Frame.RESULT, Frame.ERROR -> asks.answer(f);
                case Frame.CANCEL -> calls.cancel(f.id());
                case Frame.CALL -> call(f.id(), in);
                case Frame.HOOK -> hook(f.id(), in);
                case Frame.HELLO -> hello(f.id(), in);
                case Frame.STOP -> {
                    stopping = true;
                    start(f.id(), "stop", null, false, out -> {});
                }
                case Frame.LOAD -> start(f.id(), "load", null, false, out -> modules.load(in, out));
                case Frame.UNLOAD -> start(f.id(), "unload", null, false, out -> modules.unload(in, out));
                case Frame.DUMP -> start(f.id(), "dump", null, false, out -> out.string(threads.dump()));
                case Frame.STATS -> start(f.id(), "stats", null, false, out -> Stats.write(in.bool(), modules, calls, usage, objects, out));
                case Frame.OBJECT -> object(f.id(), in);
                case Frame.LEVEL -> level = in.u8() - 1;
                case Frame.RECORD -> start(f.id(), "record", null, false, out -> record(in));
                default -> throw new RefusedException("this host does not know frames of the kind " + f.kind());
            }
        } catch (RefusedException | ProtocolException e) {
            refuse(f.id(), e);
        }
    }

    /** A Java without flight recordings fails here and nowhere else. */
    private void record(In in) throws Exception {
        synchronized (recordLock) {
            if (recordings == null) {
                recordings = new Recordings();
            }
        }
        recordings.handle(in);
    }

    private void refuse(long id, Exception e) {
        Out out = new Out();
        out.zigzag(0);
        out.string(e.getMessage());
        out.string("");
        out.string("");
        try {
            writer.sendAtOnce(Frame.ERROR, id, out);
        } catch (IOException failed) {
            // The server is gone, which the reader notices.
        }
    }

    private void hello(long id, In in) throws RefusedException {
        int version = in.u32();
        if (version != Frame.VERSION) {
            throw new RefusedException("the server speaks version " + version + " of the protocol, this host version " + Frame.VERSION);
        }
        in.string();
        node = new Node(in.string(), in.string(), in.string());
        int limit = in.number();
        if (limit > 0) {
            pendingLimit = limit;
        }
        severalNodes = in.bool();
        Out out = new Out();
        out.string(System.getProperty("java.version", ""));
        out.string(System.getProperty("java.vendor", ""));
        out.number(Runtime.version().feature());
        out.string(Dispatch.FINGERPRINT);
        try {
            writer.sendAtOnce(Frame.READY, id, out);
        } catch (IOException e) {
            // The server is gone, which the reader notices.
        }
    }

    private void call(long id, In in) throws RefusedException {
        Extension e = modules.extension(in.number());
        int method = in.number();
        String name = e.name(method);
        if (name == null) {
            throw new RefusedException("class " + e.type.name() + " has no method with the number " + method);
        }
        take();
        start(id, name, e.module.loader, true, method, out -> e.call(method, in, out));
    }

    private void object(long id, In in) throws RefusedException {
        take();
        start(id, "object", PluginClasses.server(), true, out -> objects.handle(id, in, out));
    }

    private void tell(int kind, Out body) {
        try {
            writer.send(kind, 0, body);
        } catch (IOException e) {
            // The server is gone, which the reader notices.
        }
    }

    /** Takes a place among the calls that the host may have. */
    private void take() throws RefusedException {
        if (pending.incrementAndGet() > pendingLimit) {
            pending.decrementAndGet();
            throw new RefusedException("there are " + pendingLimit + " calls in the Java host already, the most that it takes");
        }
    }

    private void hook(long id, In in) throws RefusedException {
        Extension e = modules.extension(in.number());
        int hook = in.u8();
        if (hook == Extension.ENDPOINT) {
            String handler = in.string();
            take();
            start(id, e.type.name() + "." + handler, e.module.loader, true, out -> e.serve(id, handler, in, out));
            return;
        }
        start(id, e.type.name() + "." + Extension.hookName(hook), e.module.loader, false, out -> {
            if (hook == Extension.SCHEDULE) {
                e.run(in);
            } else {
                e.hook(hook);
            }
        });
    }

    /** What is done for a request; it writes the body of the result. */
    interface Work {
        void run(Out out) throws Throwable;
    }

    /**
     * Works on a request. The code of plugins runs on virtual threads; what the host itself does has threads that get a
     * processor even when plugins hold all of those.
     */
    private void start(long id, String name, ClassLoader loader, boolean counted, Work work) throws RefusedException {
        start(id, name, loader, counted, -1, work);
    }

    private void start(long id, String name, ClassLoader loader, boolean counted, int method, Work work) throws RefusedException {
        Calls.Running r = new Calls.Running(id, name, loader, method);
        Runnable run = () -> run(r, counted, work);
        r.thread = loader != null
                ? Thread.ofVirtual().name(name).inheritInheritableThreadLocals(false).unstarted(run)
                : Thread.ofPlatform().name(name).daemon().inheritInheritableThreadLocals(false).unstarted(run);
        if (!calls.add(r)) {
            if (counted) {
                pending.decrementAndGet();
            }
            throw new RefusedException("there is a request with the number " + id + " already");
        }
        watchdog.watch();
        r.thread.start();
    }

    private void run(Calls.Running r, boolean counted, Work work) {
        try {
            int kind = Frame.RESULT;
            Out out = null;
            try {
                calls.begun(r);
                out = new Out();
                if (r.loader != null) {
                    r.thread.setContextClassLoader(r.loader);
                }
                work.run(out);
            } catch (Throwable e) {
                haltWithoutMemory(e);
                kind = Frame.ERROR;
                if (r.loader != null) {
                    r.thread.setContextClassLoader(r.loader);
                }
                out = error(e);
            }
            answer(r, counted, kind, out);
        } catch (VirtualMachineError | LinkageError e) {
            NoMemory.end(e); // Without its answer the call would never end.
        }
        if (stopping && "stop".equals(r.what) && r.loader == null) {
            writer.flush(FLUSH);
            halt.accept(0);
        }
    }

    private void answer(Calls.Running r, boolean counted, int kind, Out out) {
        calls.remove(r);
        usage.ended(r);
        if (counted) {
            pending.decrementAndGet();
        }
        // The server may have the plugin unloaded as soon as it has the answer: nothing of this thread belongs to it any more.
        r.thread.setContextClassLoader(null);
        try {
            writer.send(kind, r.id, out);
        } catch (IOException e) {
            // The server is gone, which the reader notices.
        }
    }

    private Out error(Throwable e) {
        Out out = new Out(1024);
        PluginLoader of = Thread.currentThread().getContextClassLoader() instanceof PluginLoader l ? l : null;
        try {
            Errors.write(e, of, node == null ? "" : node.role(), out);
        } catch (Throwable again) {
            haltWithoutMemory(again);
            out.reset();
            out.zigzag(0);
            out.string(e.getClass().getName() + ", whose text could not be had: " + again.getClass().getName());
            out.string("");
            out.string("");
        }
        return out;
    }

    /** Ends the process if there is no memory left. A call that only wanted too much fails. */
    private void haltWithoutMemory(Throwable e) {
        for (Throwable t : Errors.chain(e)) {
            if (t instanceof OutOfMemoryError o && Memory.exhausted(o)) {
                NoMemory.end(o);
            }
        }
    }
}
