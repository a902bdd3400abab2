// SPDX-License-Identifier: Apache-2.0

package im.app.plugin;

import java.util.Collection;

/**
 * A plugin. The class that {@code class} names in {@code plugin.yaml} extends this class and has a
 * public constructor without parameters.
 *
 * <pre>{@code
 * public class WordFilterPlugin extends AppPlugin {
 *     @Override
 *     public Set<Class<? extends AppExtension>> getExtensions() {
 *         return Set.of(WordFilter.class);
 *     }
 * }
 * }</pre>
 */
public abstract class AppPlugin {

    /** Called by the host when the plugin is loaded. */
    protected AppPlugin() {}

    /**
     * Returns the classes of the plugin's extensions. The host creates one instance of each.
     *
     * @return at least one class, each with a public constructor without parameters
     */
    public abstract Collection<Class<? extends AppExtension>> getExtensions();
}
