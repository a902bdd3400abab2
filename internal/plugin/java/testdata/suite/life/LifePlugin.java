// SPDX-License-Identifier: Apache-2.0

package life;

import im.app.plugin.AppExtension;
import im.app.plugin.AppPlugin;
import java.util.Collection;
import java.util.List;

public class LifePlugin extends AppPlugin {
    @Override
    public Collection<Class<? extends AppExtension>> getExtensions() {
        return List.of(First.class, Bare.class);
    }
}
