// SPDX-License-Identifier: Apache-2.0

package org.example.plaintext;

import im.app.plugin.AppExtension;
import im.app.plugin.AppPlugin;
import java.util.Set;

/** Converts Markdown messages to plain text. */
public class PlainTextPlugin extends AppPlugin {
    @Override
    public Set<Class<? extends AppExtension>> getExtensions() {
        return Set.of(PlainText.class);
    }
}
