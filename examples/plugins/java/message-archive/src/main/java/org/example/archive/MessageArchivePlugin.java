// SPDX-License-Identifier: Apache-2.0

package org.example.archive;

import im.app.plugin.AppExtension;
import im.app.plugin.AppPlugin;
import java.util.Set;

/** Archives messages before they are deleted. */
public class MessageArchivePlugin extends AppPlugin {
    @Override
    public Set<Class<? extends AppExtension>> getExtensions() {
        return Set.of(MessageArchive.class);
    }
}
