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
 * Executes the requests of the server: one thread reads them, and each runs in its own thread, a
 * virtual one if it runs code of plugins.
 */
public final class Host {
    private static final int DEFAULT_PENDING = 10_000;

    /** The time limit for writing the last frames at the end of the process, in nanoseconds. */
    private static final long FLUSH = 1_000_000_000L;

    private final FrameReader reader;
    private final FrameWriter writer;
    private final IntConsumer halt;
    private final Calls calls = new Calls();
    private final AtomicInteger pending = new AtomicInteger();
    private final ServerRequests serverRequests;
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
    /** The lowest level that the server logs. */
    private volatile int level = Log.DEBUG;
    private volatile boolean stopping;

    /**
     * Creates a host that communicates over two streams.
     *
     * @param in the input from the server
     * @param out the output to the server
     * @param halt ends the process immediately with a status, when the server requests it
     */
    public Host(InputStream in, OutputStream out, IntConsumer halt) {
        reader = new FrameReader(in);
        writer = new FrameWriter(out);
        this.halt = halt;
        serverRequests = new ServerRequests(writer);
        objects = new JavaObjects(PluginClasses.server(), serverRequests::ask, this::tell);
        watchdog = new Watchdog(calls, new VirtualThreadScheduler(), message -> log(0, Log.WARN, "watchdog", message, null));
    }

    /**
     * Runs until the server closes its stream. Plugins that are still loaded then are not stopped.
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
            serverRequests.close();
        }
    }

    ServerRequests serverRequests() {
        return serverRequests;
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

    /**
     * Returns whether the process has a node for each of its roles, so that the call determines the
     * node that a plugin runs for.
     */
    boolean severalNodes() {
        return severalNodes;
    }

    /** Waits until the server has ended the process. Never returns. */
    void awaitEnd() {
        while (true) {
            LockSupport.park(this);
        }
    }

    /** Returns whether the server has requested the host to stop. */
    boolean stopping() {
        return stopping;
    }

    /**
     * Writes a line to the log of the server. If it cannot be sent, it is dropped.
     *
     * @param module the number of the plugin that writes; 0 if there is none
     * @param level one of the constants of {@link Log}
     * @param logger the name of the logger
     * @param message the message
     * @param thrown the exception; may be null
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
            // The connection is closed, and this process is about to end.
        }
    }

    /** Returns whether the server logs a level. */
    boolean logs(int line) {
        return line <= level;
    }

    /** Notifies the server that a plugin ends the process. */
    void sendExit(int status, int module) {
        Out out = new Out();
        out.zigzag(status);
        out.number(module);
        try {
            writer.sendAtOnce(Frame.EXIT, 0, out);
            writer.flush(FLUSH);
        } catch (IOException e) {
            // The server detects the closed pipe.
        }
    }

    /** Notifies the server which plugin is about to end the process without an orderly shutdown. */
    void sendCulprit(int module, String how) {
        Out out = new Out();
        out.number(module);
        out.string(how);
        try {
            writer.sendAtOnce(Frame.CULPRIT, 0, out);
            writer.flush(FLUSH);
        } catch (IOException e) {
            // The server detects the closed pipe.
        }
    }

    /** Notifies the server that an exception ended a thread of a plugin. */
    void sendUncaught(int module, String how) {
        Out out = new Out();
        out.number(module);
        out.string(Errors.shorten(how));
        try {
            writer.send(Frame.UNCAUGHT, 0, out);
        } catch (IOException e) {
            // The server detects the closed pipe.
        }
    }

    private void handle(Frame f) {
        try {
            In in = f.body();
            switch (f.kind()) {
                case Frame.RESULT, Frame.ERROR -> serverRequests.answer(f);
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

    /**
     * Handles RECORD. Creates {@link Recordings} lazily: a Java without flight recordings fails
     * only here.
     */
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
            // The connection is closed; the reader detects that.
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
            // The connection is closed; the reader detects that.
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
            // The connection is closed; the reader detects that.
        }
    }

    /** Counts a pending call. Throws a RefusedException if that exceeds the limit. */
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

    /** The execution of a request; it writes the body of the result. */
    interface Work {
        void run(Out out) throws Throwable;
    }

    /**
     * Starts a request. Code of plugins runs on virtual threads; the host's own work runs on
     * platform threads, which get a processor even if plugins occupy all carrier threads.
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
            NoMemory.end(e); // Without a response the call would never end.
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
        // The server may request to unload the plugin as soon as it has the response: this thread
        // must not reference it any more.
        r.thread.setContextClassLoader(null);
        try {
            writer.send(kind, r.id, out);
        } catch (IOException e) {
            // The connection is closed; the reader detects that.
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

    /**
     * Ends the process if its memory is exhausted. An OutOfMemoryError for another reason, such as
     * too large an array, only fails the call.
     */
    private void haltWithoutMemory(Throwable e) {
        for (Throwable t : Errors.chain(e)) {
            if (t instanceof OutOfMemoryError o && Memory.exhausted(o)) {
                NoMemory.end(o);
            }
        }
    }
}
