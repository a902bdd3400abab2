// SPDX-License-Identifier: Apache-2.0

package org.example.moderation;

import im.app.plugin.AppExtension;
import im.app.plugin.AppPlugin;
import java.util.Set;

/** Refuses or masks messages to which a service gives a high score. */
public class ModerationPlugin extends AppPlugin {
    @Override
    public Set<Class<? extends AppExtension>> getExtensions() {
        return Set.of(Moderation.class);
    }
}
