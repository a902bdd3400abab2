// SPDX-License-Identifier: Apache-2.0

package im.app.plugin.host.load;

import java.io.IOException;
import java.net.URL;
import java.util.Collections;
import java.util.Enumeration;

/**
 * The parent of the loaders of plugins: the platform, the API with the client protocol, and the
 * protobuf runtime. Of the host itself, only the checks that rewritten code of plugins calls are
 * visible.
 */
final class ServerClasses extends ClassLoader {
    static {
        registerAsParallelCapable();
    }

    private final ClassLoader host;

    /**
     * Creates a loader of the visible classes of a host.
     *
     * @param host the loader of the host and the API
     */
    ServerClasses(ClassLoader host) {
        super("server", ClassLoader.getPlatformClassLoader());
        this.host = host;
    }

    private static boolean visible(String name) {
        if (name.startsWith("im.app.")) {
            return !name.startsWith("im.app.plugin.host.") || name.startsWith("im.app.plugin.host.guard.");
        }
        return name.startsWith("com.google.protobuf.");
    }

    @Override
    protected Class<?> loadClass(String name, boolean resolve) throws ClassNotFoundException {
        return visible(name) ? host.loadClass(name) : super.loadClass(name, resolve);
    }

    @Override
    public URL getResource(String name) {
        return visible(name.replace('/', '.')) ? host.getResource(name) : super.getResource(name);
    }

    @Override
    public Enumeration<URL> getResources(String name) throws IOException {
        if (visible(name.replace('/', '.'))) {
            URL found = host.getResource(name);
            return found == null ? Collections.emptyEnumeration() : Collections.enumeration(Collections.singleton(found));
        }
        return super.getResources(name);
    }
}
