// SPDX-License-Identifier: Apache-2.0

package endless;

import im.app.plugin.AppExtension;
import im.app.plugin.AppPlugin;
import java.util.Set;

public class EndlessPlugin extends AppPlugin {
    static volatile long turns;

    public EndlessPlugin() {
        System.out.println("it begins without end");
        for (;;) {
            turns++;
        }
    }

    @Override
    public Set<Class<? extends AppExtension>> getExtensions() {
        return Set.of();
    }
}
