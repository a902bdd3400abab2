// SPDX-License-Identifier: Apache-2.0

package im.app.plugin.host;

import im.app.plugin.AppExtension;
import im.app.plugin.Descriptor;
import im.app.plugin.host.generated.PointInfo;
import im.app.plugin.host.load.ExtensionClass;
import im.app.plugin.host.load.LoadException;
import im.app.plugin.host.load.PluginClasses;
import im.app.plugin.host.load.PluginLoader;
import im.app.plugin.host.log.Log;
import im.app.plugin.host.wire.In;
import im.app.plugin.host.wire.Out;
import im.app.plugin.spi.Contexts;
import java.io.File;
import java.lang.ref.WeakReference;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicInteger;

/** The plugins of a host. */
final class Modules {
    private final Host host;
    private final AtomicInteger moduleNumbers = new AtomicInteger();
    private final AtomicInteger extensionNumbers = new AtomicInteger();
    private final Map<Integer, Module> modules = new ConcurrentHashMap<>();
    private final Map<Integer, Extension> extensions = new ConcurrentHashMap<>();
    /** The unloaded plugins with running threads. */
    private final Map<Integer, Left> left = new ConcurrentHashMap<>();
    /** All created loaders that are not garbage-collected yet. */
    private final Queue<WeakReference<PluginLoader>> loaders = new ConcurrentLinkedQueue<>();

    Modules(Host host) {
        this.host = host;
    }

    Extension extension(int number) throws RefusedException {
        Extension e = extensions.get(number);
        if (e == null) {
            throw new RefusedException("there is no extension with the number " + number);
        }
        return e;
    }

    /** Returns the loader of a plugin; null if it is not loaded. */
    PluginLoader loader(int module) {
        Module m = modules.get(module);
        return m == null ? null : m.loader;
    }

    /** Executes LOAD. */
    void load(In in, Out out) throws Exception {
        Descriptor descriptor = new Descriptor(in.string(), in.string());
        String className = in.string();
        File file = new File(in.string());
        boolean strict = in.bool();
        int number = moduleNumbers.incrementAndGet();
        PluginClasses classes = PluginClasses.load(
                new PluginClasses.Request(number, descriptor.id(), className, file, in.string(), strict),
                loader -> loaders.add(new WeakReference<>(loader)),
                warning -> host.log(number, Log.WARN, "classes", warning, null));
        Module module = new Module(number, descriptor, classes.loader());
        host.usage().open(number);
        modules.put(number, module);
        boolean done = false;
        try {
            for (ExtensionClass c : classes.extensions()) {
                module.extensions.add(make(module, c));
            }
            done = true;
        } finally {
            if (!done) {
                forget(module);
                host.usage().close(number);
            }
        }
        for (Extension e : module.extensions) {
            extensions.put(e.number, e);
        }
        write(module, classes.warnings(), out);
    }

    private Extension make(Module module, ExtensionClass type) throws Exception {
        Extension e = new Extension(extensionNumbers.incrementAndGet(), module, type);
        Context context = new Context(host, e);
        AppExtension instance;
        try {
            instance = Contexts.constructing(context, type::construct);
        } catch (LoadException failed) {
            throw failed;
        }
        Contexts.attach(instance, context);
        e.instance(instance, context);
        return e;
    }

    private static void write(Module module, List<String> warnings, Out out) {
        out.number(module.number);
        out.count(module.extensions.size());
        for (Extension e : module.extensions) {
            out.number(e.number);
            out.string(e.type.name());
            out.count(e.type.points().size());
            for (PointInfo p : e.type.points()) {
                out.string(p.name());
            }
            out.count(e.type.methods().size());
            for (int m : e.type.methods()) {
                out.number(m);
            }
            out.string(e.endpoints().declaration());
        }
        out.count(warnings.size());
        for (String w : warnings) {
            out.string(w);
        }
    }

    /** Executes UNLOAD. */
    void unload(In in, Out out) throws RefusedException {
        int number = in.number();
        Module m = modules.get(number);
        if (m == null) {
            throw new RefusedException("there is no plugin with the number " + number);
        }
        forget(m);
        host.calls().cancelAll(m.loader);
        List<String> names = host.threads().leftBehind(m.loader);
        if (names.isEmpty()) {
            host.usage().close(number);
        } else {
            left.put(number, new Left(m.loader, host.usage().unattributed()));
        }
        out.count(names.size());
        for (String name : names) {
            out.string(name);
        }
    }

    /** An unloaded plugin with running threads. */
    private static final class Left {
        /**
         * Searching for virtual threads is expensive: after this many calls, only one call in
         * {@link #SELDOM} searches.
         */
        private static final int OFTEN = 8;

        private static final int SELDOM = 32;

        final WeakReference<PluginLoader> loader;
        final long since = System.nanoTime();
        final long unattributed;
        private int looks;
        private int virtual;

        Left(PluginLoader loader, long unattributed) {
            this.loader = new WeakReference<>(loader);
            this.unattributed = unattributed;
        }

        /** Returns the number of virtual threads as of the last search. */
        int virtual(PluginLoader l) {
            if (looks < OFTEN || looks % SELDOM == 0) {
                virtual = Threads.virtual(l).size();
            }
            looks++;
            return virtual;
        }
    }

    /**
     * Writes the usage of each plugin, the number of its cancelled requests that still run, and the
     * longest time that one of them has been computing since its cancellation.
     */
    void writeUsage(Out out) {
        long now = System.nanoTime();
        List<Module> all = List.copyOf(modules.values());
        out.count(all.size());
        for (Module m : all) {
            int abandoned = 0;
            long spinning = 0;
            for (Calls.Running r : host.calls().all()) {
                if (r.loader == m.loader && r.isCancelled()) {
                    abandoned++;
                    spinning = Math.max(spinning, r.spinning(now));
                }
            }
            out.number(m.number);
            out.zigzag(host.usage().cpu(m.number));
            out.zigzag(host.usage().allocated(m.number));
            out.zigzag(abandoned);
            out.zigzag(spinning);
        }
    }

    /** Writes the longest time that a cancelled load has been computing without waiting. */
    void writeLoading(Out out) {
        long now = System.nanoTime();
        long longest = 0;
        for (Calls.Running r : host.calls().all()) {
            if (r.loader == null && "load".equals(r.what)) {
                longest = Math.max(longest, r.spinning(now));
            }
        }
        out.zigzag(longest);
    }

    /**
     * Writes the unloaded plugins whose threads still run, the time since they were unloaded, and
     * their processor time since they were loaded.
     */
    void writeLeft(Out out) {
        Out list = new Out();
        int n = 0;
        for (Map.Entry<Integer, Left> e : left.entrySet()) {
            Left one = e.getValue();
            PluginLoader loader = one.loader.get();
            int threads = loader == null ? 0 : host.threads().count(loader);
            int virtual = loader == null ? 0 : one.virtual(loader);
            if (threads + virtual == 0) {
                left.remove(e.getKey());
                host.usage().close(e.getKey());
                continue;
            }
            n++;
            list.number(e.getKey());
            list.zigzag(threads + virtual);
            list.zigzag(System.nanoTime() - one.since);
            list.zigzag(host.usage().cpu(e.getKey()) + (virtual == 0 ? 0 : host.usage().unattributed() - one.unattributed));
        }
        out.count(n);
        out.raw(list.toByteArray());
    }

    private void forget(Module m) {
        for (Extension e : m.extensions) {
            extensions.remove(e.number);
        }
        modules.remove(m.number);
        PluginClasses.close(m.loader);
    }

    /**
     * Returns the number of loaders that are not garbage-collected, including those of unloaded
     * plugins.
     */
    int liveLoaders() {
        int n = 0;
        for (Iterator<WeakReference<PluginLoader>> i = loaders.iterator(); i.hasNext();) {
            if (i.next().get() == null) {
                i.remove();
            } else {
                n++;
            }
        }
        return n;
    }
}
