// SPDX-License-Identifier: Apache-2.0

package org.example.bridge;

import im.app.plugin.AppExtension;
import im.app.plugin.AppPlugin;
import java.util.Set;

/** Notifies a webhook of every change. */
public class WebhookBridgePlugin extends AppPlugin {
    @Override
    public Set<Class<? extends AppExtension>> getExtensions() {
        return Set.of(WebhookBridge.class);
    }
}
