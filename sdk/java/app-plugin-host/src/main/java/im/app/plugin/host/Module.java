// SPDX-License-Identifier: Apache-2.0

package im.app.plugin.host;

import im.app.plugin.Descriptor;
import im.app.plugin.host.load.PluginLoader;
import java.util.ArrayList;
import java.util.List;

/** A loaded plugin. */
final class Module {
    final int number;
    final Descriptor descriptor;
    final PluginLoader loader;
    final List<Extension> extensions = new ArrayList<>();

    Module(int number, Descriptor descriptor, PluginLoader loader) {
        this.number = number;
        this.descriptor = descriptor;
        this.loader = loader;
    }
}
