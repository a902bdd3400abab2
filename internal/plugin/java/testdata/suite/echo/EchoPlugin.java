// SPDX-License-Identifier: Apache-2.0

package echo;

import im.app.plugin.AppExtension;
import im.app.plugin.AppPlugin;
import java.util.Collection;
import java.util.List;

public class EchoPlugin extends AppPlugin {
    @Override
    public Collection<Class<? extends AppExtension>> getExtensions() {
        return List.of(Gate.class, Serve.class);
    }
}
