// SPDX-License-Identifier: Apache-2.0

package im.app.plugin.host.log;

import im.app.plugin.host.load.PluginLoader;

/** Determines which plugin is running. */
public final class Callers {
    private static final StackWalker WALKER = StackWalker.getInstance(StackWalker.Option.RETAIN_CLASS_REFERENCE);

    private Callers() {}

    /**
     * Returns the plugin that the current thread works for: by its context loader, or else by the
     * classes on its stack.
     *
     * @return the loader of the plugin; null if there is none
     */
    public static PluginLoader current() {
        PluginLoader found = of(Thread.currentThread().getContextClassLoader());
        if (found != null) {
            return found;
        }
        return WALKER.walk(frames -> {
            for (var i = frames.iterator(); i.hasNext();) {
                PluginLoader l = of(i.next().getDeclaringClass().getClassLoader());
                if (l != null) {
                    return l;
                }
            }
            return null;
        });
    }

    /**
     * Returns the plugin that the current thread works for.
     *
     * @return the number of the plugin; 0 if there is none
     */
    public static int module() {
        PluginLoader found = current();
        return found == null ? 0 : found.module();
    }

    private static PluginLoader of(ClassLoader loader) {
        for (ClassLoader l = loader; l != null; l = l.getParent()) {
            if (l instanceof PluginLoader found) {
                return found;
            }
        }
        return null;
    }
}
