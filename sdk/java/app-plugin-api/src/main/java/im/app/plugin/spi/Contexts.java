// SPDX-License-Identifier: Apache-2.0

package im.app.plugin.spi;

import im.app.plugin.AppExtension;
import java.util.concurrent.Callable;
import java.util.function.BiConsumer;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/** Assigns contexts to extensions. Only hosts use it. */
public final class Contexts {

    private static final ThreadLocal<ExtensionContext> CONSTRUCTING = new ThreadLocal<>();
    private static volatile BiConsumer<AppExtension, ExtensionContext> setter;
    private static volatile Function<AppExtension, ExtensionContext> getter;

    private Contexts() {}

    /**
     * Called by {@link AppExtension} only: sets how the context of an extension is accessed.
     *
     * @param set sets the context of an extension
     * @param get returns the context of an extension
     */
    public static void access(BiConsumer<AppExtension, ExtensionContext> set, Function<AppExtension, ExtensionContext> get) {
        if (setter != null) {
            throw new IllegalStateException("only AppExtension says how contexts are reached");
        }
        setter = set;
        getter = get;
    }

    /**
     * Sets the context of an extension.
     *
     * @param extension the extension
     * @param context the context that it uses from now on
     */
    public static void attach(AppExtension extension, ExtensionContext context) {
        setter.accept(extension, context);
    }

    /**
     * Returns the context of an extension.
     *
     * @param extension the extension
     * @return its context; null if it has none
     */
    public static @Nullable ExtensionContext of(AppExtension extension) {
        return getter.apply(extension);
    }

    /**
     * Runs a constructor. The new extension has the context from the beginning of its constructor.
     *
     * @param <T> the type of the extension
     * @param context the context
     * @param constructor creates the extension
     * @return the extension
     * @throws Exception if the constructor throws an exception
     */
    public static <T> T constructing(ExtensionContext context, Callable<T> constructor) throws Exception {
        ExtensionContext before = CONSTRUCTING.get();
        CONSTRUCTING.set(context);
        try {
            return constructor.call();
        } finally {
            if (before == null) {
                CONSTRUCTING.remove();
            } else {
                CONSTRUCTING.set(before);
            }
        }
    }

    /**
     * Returns the context of the extension that this thread is creating.
     *
     * @return the context; null if it creates none
     */
    public static @Nullable ExtensionContext current() {
        return CONSTRUCTING.get();
    }
}
