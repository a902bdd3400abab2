// SPDX-License-Identifier: Apache-2.0

package pending;

import im.app.plugin.AppExtension;
import im.app.plugin.AppPlugin;
import java.util.Set;
import java.util.concurrent.CountDownLatch;

public class PendingPlugin extends AppPlugin {
    public PendingPlugin() throws InterruptedException {
        new CountDownLatch(1).await();
    }

    @Override
    public Set<Class<? extends AppExtension>> getExtensions() {
        return Set.of();
    }
}
