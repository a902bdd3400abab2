// SPDX-License-Identifier: Apache-2.0

package scheduled;

import im.app.plugin.AppExtension;
import im.app.plugin.AppPlugin;
import java.util.Collection;
import java.util.List;

public class ScheduledPlugin extends AppPlugin {
    @Override
    public Collection<Class<? extends AppExtension>> getExtensions() {
        return List.of(Timer.class);
    }
}
