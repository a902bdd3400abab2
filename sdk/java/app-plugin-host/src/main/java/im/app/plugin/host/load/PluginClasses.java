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
 * The checked classes of a plugin.
 *
 * @param loader their loader, which is open
 * @param extensions the extension classes
 * @param warnings problems that do not prevent loading the plugin
 */
public record PluginClasses(PluginLoader loader, List<ExtensionClass> extensions, List<String> warnings) {
    private static final ServerClasses SERVER = new ServerClasses(PluginClasses.class.getClassLoader());

    /**
     * Returns the loader of the classes that are visible to all plugins.
     *
     * @return the parent of the loaders of plugins
     */
    public static ClassLoader server() {
        return SERVER;
    }

    /**
     * The parameters of loading a plugin.
     *
     * @param module the number of the plugin
     * @param id the id of the plugin
     * @param className its entry class
     * @param file the jar
     * @param fileName the name of the jar in messages
     * @param strict whether classes that the server has as well are an error
     */
    public record Request(int module, String id, String className, File file, String fileName, boolean strict) {}

    /**
     * Loads the entry class and the extension classes of a plugin. Sets the context class loader of
     * the calling thread to the loader of the plugin.
     *
     * @param request the parameters
     * @param opened receives the loader once it is created
     * @param later receives warnings about classes that are loaded later
     * @return the classes
     * @throws LoadException if the jar or a class is invalid; the loader is closed then
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
            // The file was only read, so no data is lost.
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
            // The class file is at the path of another name.
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
