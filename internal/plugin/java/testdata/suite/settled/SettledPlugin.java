// SPDX-License-Identifier: Apache-2.0

package settled;

import im.app.plugin.AppExtension;
import im.app.plugin.AppPlugin;
import java.util.Collection;
import java.util.List;

public class SettledPlugin extends AppPlugin {
    @Override
    public Collection<Class<? extends AppExtension>> getExtensions() {
        return List.of(Keeper.class);
    }
}
