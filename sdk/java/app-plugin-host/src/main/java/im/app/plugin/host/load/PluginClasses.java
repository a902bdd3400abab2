// SPDX-License-Identifier: Apache-2.0

package im.app.plugin.host.load;

import im.app.plugin.AppExtension;
import im.app.plugin.AppPlugin;
import java.io.File;
import java.io.IOException;
import java.util.ArrayList;
import java.util.Collection;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import java.util.function.Consumer;

/**
 * The classes of a plugin, checked.
 *
 * @param loader where they are from; it is open
 * @param extensions the classes that implement extension points
 * @param warnings what is odd but no reason to refuse the plugin
 */
public record PluginClasses(PluginLoader loader, List<ExtensionClass> extensions, List<String> warnings) {
    private static final ServerClasses SERVER = new ServerClasses(PluginClasses.class.getClassLoader());

    /**
     * Gives the loader of the classes that all plugins see.
     *
     * @return the parent of the loaders of plugins
     */
    public static ClassLoader server() {
        return SERVER;
    }

    /**
     * Says what is to be loaded.
     *
     * @param module the number that the plugin gets
     * @param id the id of the plugin
     * @param className its entry class
     * @param file the jar
     * @param fileName how messages call the jar
     * @param strict whether classes that are also in the server are an error
     */
    public record Request(int module, String id, String className, File file, String fileName, boolean strict) {}

    /**
     * Loads the classes of a plugin and asks its entry class for its extensions. The calling thread
     * has the loader of the plugin as its context loader afterwards.
     *
     * @param request what to load
     * @param opened gets the loader as soon as there is one
     * @param later gets warnings about classes that are loaded later
     * @return the classes
     * @throws LoadException with a sentence, if they are not as they should be; the loader is
     * closed then
     */
    public static PluginClasses load(Request request, Consumer<PluginLoader> opened, Consumer<String> later) throws LoadException {
        PluginLoader loader;
        try {
            loader = new PluginLoader(
                    request.module, request.id + "#" + request.module, request.file, request.fileName, request.strict, SERVER, later);
        } catch (IOException e) {
            throw new LoadException(request.fileName + " cannot be opened as a jar: " + e.getMessage());
        }
        opened.accept(loader);
        boolean done = false;
        try {
            Thread.currentThread().setContextClassLoader(loader);
            List<String> warnings = new ArrayList<>();
            List<ExtensionClass> extensions = extensions(entry(request, loader), warnings);
            done = true;
            return new PluginClasses(loader, extensions, warnings);
        } finally {
            if (!done) {
                close(loader);
            }
        }
    }

    /**
     * Closes a loader.
     *
     * @param loader the loader
     */
    public static void close(PluginLoader loader) {
        try {
            loader.close();
        } catch (IOException e) {
            // The file was only read, so that nothing is lost.
        }
    }

    private static Class<? extends AppPlugin> entry(Request request, PluginLoader loader) throws LoadException {
        Class<?> c;
        try {
            c = loader.loadClass(request.className);
        } catch (ClassNotFoundException e) {
            throw new LoadException("there is no class " + request.className + " in " + request.fileName
                    + ", which its descriptor names as the class of the plugin");
        } catch (NoClassDefFoundError e) {
            // A name in another case, on a file system that does not care.
            if (e.getMessage() != null && e.getMessage().contains("wrong name")) {
                throw new LoadException("the class of the plugin is not in the place of its name in " + request.fileName, e);
            }
            throw e;
        }
        if (c.getClassLoader() != loader) {
            throw new LoadException("class " + request.className + " is a class of the server, not of " + request.fileName
                    + ": name a class of the plugin in its descriptor");
        }
        if (!AppPlugin.class.isAssignableFrom(c)) {
            throw new LoadException("class " + c.getName() + " is the class of the plugin, so it must extend " + AppPlugin.class.getName());
        }
        return c.asSubclass(AppPlugin.class);
    }

    private static List<ExtensionClass> extensions(Class<? extends AppPlugin> entry, List<String> warnings) throws LoadException {
        AppPlugin plugin = ExtensionClass.construct(ExtensionClass.publicConstructor(entry));
        Collection<Class<? extends AppExtension>> classes;
        try {
            classes = plugin.getExtensions();
        } catch (RuntimeException e) {
            throw new LoadException("getExtensions() of class " + entry.getName() + " failed", e);
        }
        if (classes == null) {
            throw new LoadException("getExtensions() of class " + entry.getName() + " returned null; it must return the classes of the extensions");
        }
        Set<Class<?>> distinct = new LinkedHashSet<>();
        for (Object c : classes) {
            if (c instanceof Class<?> found) {
                distinct.add(found);
            } else if (c == null) {
                warnings.add("getExtensions() of class " + entry.getName() + " returned a null among the classes, which is skipped");
            } else {
                throw new LoadException("getExtensions() of class " + entry.getName() + " returned an instance of " + c.getClass().getName()
                        + " where a class must be");
            }
        }
        if (distinct.isEmpty()) {
            throw new LoadException("getExtensions() of class " + entry.getName() + " returned no class; a plugin has at least one extension");
        }
        List<ExtensionClass> out = new ArrayList<>();
        for (Class<?> c : distinct) {
            out.add(new ExtensionClass(c, warnings));
        }
        return out;
    }
}
