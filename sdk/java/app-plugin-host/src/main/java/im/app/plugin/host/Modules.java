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
    /** All loaders that there ever were and that were not collected yet. */
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

    /** Finds the loader of a plugin; it is null if there is no such plugin. */
    PluginLoader loader(int module) {
        Module m = modules.get(module);
        return m == null ? null : m.loader;
    }

    /** Carries out LOAD. */
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
        e.instance(instance);
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
        }
        out.count(warnings.size());
        for (String w : warnings) {
            out.string(w);
        }
    }

    /** Carries out UNLOAD. */
    void unload(In in, Out out) throws RefusedException {
        int number = in.number();
        Module m = modules.get(number);
        if (m == null) {
            throw new RefusedException("there is no plugin with the number " + number);
        }
        forget(m);
        host.calls().cancelAll(m.loader);
        List<String> left = host.threads().leftBehind(m.loader);
        out.count(left.size());
        for (String name : left) {
            out.string(name);
        }
    }

    private void forget(Module m) {
        for (Extension e : m.extensions) {
            extensions.remove(e.number);
        }
        modules.remove(m.number);
        PluginClasses.close(m.loader);
    }

    /** Counts the loaders that were not collected, also those of plugins that were unloaded. */
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
