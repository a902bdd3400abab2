// SPDX-License-Identifier: Apache-2.0

package im.app.plugin.host.load;

import java.io.ByteArrayInputStream;
import java.io.Closeable;
import java.io.File;
import java.io.IOException;
import java.io.InputStream;
import java.net.MalformedURLException;
import java.net.URI;
import java.net.URL;
import java.net.URLConnection;
import java.net.URLStreamHandler;
import java.security.CodeSource;
import java.security.ProtectionDomain;
import java.security.SecureClassLoader;
import java.security.cert.Certificate;
import java.util.ArrayList;
import java.util.Collections;
import java.util.Enumeration;
import java.util.List;
import java.util.function.Consumer;
import java.util.jar.Attributes;
import java.util.jar.JarEntry;
import java.util.jar.JarFile;
import java.util.jar.Manifest;
import java.util.zip.ZipFile;

/**
 * Loads the classes and resources of one plugin: classes from the server first, resources from the
 * jar first. The jar is open until the loader is closed; URLs of its resources read from the same
 * open file, so that nothing keeps it open afterwards.
 */
public final class PluginLoader extends SecureClassLoader implements Closeable {
    static {
        registerAsParallelCapable();
    }

    /** The newest class file version that this virtual machine accepts. */
    private static final int NEWEST = (int) Double.parseDouble(System.getProperty("java.class.version"));

    private final int module;
    private final String fileName;
    private final boolean strict;
    private final Consumer<String> warnings;
    private final JarFile jar;
    private final URL location;
    private final ProtectionDomain domain;

    /**
     * Opens a jar.
     *
     * @param module the number of the plugin in this host
     * @param name a name for stack traces
     * @param file the jar
     * @param fileName the name of the jar in messages
     * @param strict whether loading a class from the server is an error if the jar contains it, too
     * @param server the loader of the classes of the server
     * @param warnings receives warnings about classes that are loaded without checks
     * @throws IOException if the jar cannot be read
     */
    PluginLoader(int module, String name, File file, String fileName, boolean strict, ClassLoader server, Consumer<String> warnings)
            throws IOException {
        super(name, server);
        this.module = module;
        this.fileName = fileName;
        this.strict = strict;
        this.warnings = warnings;
        jar = new JarFile(file, false, ZipFile.OPEN_READ, Runtime.version());
        location = file.toURI().toURL();
        domain = new ProtectionDomain(new CodeSource(location, (Certificate[]) null), null, this, null);
    }

    /**
     * Returns the number of the plugin.
     *
     * @return the number of the plugin
     */
    public int module() {
        return module;
    }

    /**
     * Returns the name of the jar.
     *
     * @return the name for messages
     */
    public String fileName() {
        return fileName;
    }

    private static String path(String name) {
        return name.replace('.', '/') + ".class";
    }

    /**
     * Returns whether the jar contains a class.
     *
     * @param name the name of the class
     * @return whether the jar contains its class file
     */
    public boolean has(String name) {
        return entry(path(name)) != null;
    }

    @Override
    protected Class<?> loadClass(String name, boolean resolve) throws ClassNotFoundException {
        synchronized (getClassLoadingLock(name)) {
            Class<?> c = findLoadedClass(name);
            if (c == null) {
                c = load(name);
            }
            if (resolve) {
                resolveClass(c);
            }
            return c;
        }
    }

    private Class<?> load(String name) throws ClassNotFoundException {
        Class<?> c;
        try {
            c = getParent().loadClass(name);
        } catch (ClassNotFoundException e) {
            return findClass(name);
        }
        if (strict && !name.startsWith("java.") && has(name)) {
            throw new LinkageError("class " + name + " is in " + fileName + " and in the server, too: leave it out of the jar, or move it "
                    + "into another package when the jar is built");
        }
        return c;
    }

    /** Returns an entry of the jar, or null if it does not exist or the jar is closed. */
    private JarEntry entry(String name) {
        try {
            return jar.getJarEntry(name);
        } catch (IllegalStateException e) {
            return null;
        }
    }

    @Override
    protected Class<?> findClass(String name) throws ClassNotFoundException {
        JarEntry entry = entry(path(name));
        if (entry == null) {
            throw new ClassNotFoundException(name);
        }
        byte[] bytes;
        try (InputStream in = jar.getInputStream(entry)) {
            bytes = in.readAllBytes();
        } catch (IOException e) {
            throw new ClassNotFoundException(name + ": read " + entry.getName() + " of " + fileName, e);
        }
        checkVersion(name, bytes);
        bytes = ExitRewriter.rewrite(bytes);
        try {
            bytes = MonitorRewriter.rewrite(bytes);
        } catch (MonitorRewriter.Unsuitable e) {
            warnings.accept("class " + name + " of " + fileName + " is loaded without a check of what it locks: " + e.getMessage());
        }
        definePackageOf(name);
        return defineClass(name, bytes, 0, bytes.length, domain);
    }

    private void checkVersion(String name, byte[] bytes) {
        if (bytes.length < 8) {
            return;
        }
        int version = ClassBytes.version(bytes);
        if (version > NEWEST) {
            throw new UnsupportedClassVersionError("class " + name + " of " + fileName + " is compiled for Java " + (version - 44)
                    + " (class file version " + version + "), but this host runs Java " + Runtime.version().feature()
                    + ", which reads class files up to version " + NEWEST
                    + ": compile the plugin for an older Java (--release), or give the server a newer one");
        }
    }

    private void definePackageOf(String className) {
        int dot = className.lastIndexOf('.');
        if (dot < 0) {
            return;
        }
        String name = className.substring(0, dot);
        if (getDefinedPackage(name) != null) {
            return;
        }
        Attributes main = null;
        try {
            Manifest manifest = jar.getManifest();
            main = manifest == null ? null : manifest.getMainAttributes();
        } catch (IOException e) {
            // The manifest only provides the names and versions of packages, which are optional.
        }
        try {
            if (main == null) {
                definePackage(name, null, null, null, null, null, null, null);
            } else {
                definePackage(
                        name,
                        main.getValue(Attributes.Name.SPECIFICATION_TITLE),
                        main.getValue(Attributes.Name.SPECIFICATION_VERSION),
                        main.getValue(Attributes.Name.SPECIFICATION_VENDOR),
                        main.getValue(Attributes.Name.IMPLEMENTATION_TITLE),
                        main.getValue(Attributes.Name.IMPLEMENTATION_VERSION),
                        main.getValue(Attributes.Name.IMPLEMENTATION_VENDOR),
                        null);
            }
        } catch (IllegalArgumentException e) {
            // Another thread has defined it.
        }
    }

    @Override
    public URL getResource(String name) {
        URL own = findResource(name);
        return own != null ? own : getParent().getResource(name);
    }

    @Override
    public Enumeration<URL> getResources(String name) throws IOException {
        List<URL> all = new ArrayList<>();
        URL own = findResource(name);
        if (own != null) {
            all.add(own);
        }
        getParent().getResources(name).asIterator().forEachRemaining(all::add);
        return Collections.enumeration(all);
    }

    @Override
    protected URL findResource(String name) {
        try {
            JarEntry entry = entry(name);
            if (entry == null) {
                return null;
            }
            String path = new URI(null, null, "/" + name, null).getRawPath();
            return URL.of(new URI("jar:" + location + "!" + path), new Entries(this));
        } catch (java.net.URISyntaxException | MalformedURLException e) {
            return null;
        }
    }

    @Override
    protected Enumeration<URL> findResources(String name) {
        URL own = findResource(name);
        return own == null ? Collections.emptyEnumeration() : Collections.enumeration(Collections.singleton(own));
    }

    @Override
    public InputStream getResourceAsStream(String name) {
        JarEntry entry = entry(name);
        try {
            if (entry != null) {
                return jar.getInputStream(entry);
            }
            URL server = getParent().getResource(name);
            return server == null ? null : server.openStream();
        } catch (IOException e) {
            return null;
        }
    }

    /** Closes the jar. Classes that are not loaded yet can no longer be loaded. */
    @Override
    public void close() throws IOException {
        jar.close();
    }

    /** Opens entries of the jar of a loader, without the cache that would keep the file open. */
    private static final class Entries extends URLStreamHandler {
        private final PluginLoader loader;

        Entries(PluginLoader loader) {
            this.loader = loader;
        }

        @Override
        protected URLConnection openConnection(URL url) {
            return new URLConnection(url) {
                private byte[] data;

                @Override
                public void connect() throws IOException {
                    if (data != null) {
                        return;
                    }
                    String file = getURL().getPath();
                    String name = URI.create(file.substring(file.indexOf("!/") + 1)).getPath().substring(1);
                    JarEntry entry = loader.entry(name);
                    if (entry == null) {
                        throw new IOException("there is no " + name + " in " + loader.fileName);
                    }
                    try (InputStream in = loader.jar.getInputStream(entry)) {
                        data = in.readAllBytes();
                    }
                }

                @Override
                public InputStream getInputStream() throws IOException {
                    connect();
                    return new ByteArrayInputStream(data);
                }

                @Override
                public long getContentLengthLong() {
                    try {
                        connect();
                    } catch (IOException e) {
                        return -1;
                    }
                    return data.length;
                }
            };
        }
    }
}
