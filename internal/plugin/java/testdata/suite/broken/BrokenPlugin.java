// SPDX-License-Identifier: Apache-2.0

package broken;

import im.app.plugin.AppExtension;
import im.app.plugin.AppPlugin;
import java.util.Collection;
import java.util.List;

/** Throws as soon as its class is initialised, which is the first that runs of a plugin. */
public class BrokenPlugin extends AppPlugin {
    private static final List<Class<? extends AppExtension>> EXTENSIONS = find();

    private static List<Class<? extends AppExtension>> find() {
        throw new IllegalStateException("born dead");
    }

    @Override
    public Collection<Class<? extends AppExtension>> getExtensions() {
        return EXTENSIONS;
    }
}
