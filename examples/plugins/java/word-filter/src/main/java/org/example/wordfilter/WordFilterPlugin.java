// SPDX-License-Identifier: Apache-2.0

package org.example.wordfilter;

import im.app.plugin.AppExtension;
import im.app.plugin.AppPlugin;
import java.util.Set;

/** Refuses or masks forbidden words. */
public class WordFilterPlugin extends AppPlugin {
    @Override
    public Set<Class<? extends AppExtension>> getExtensions() {
        return Set.of(WordFilter.class);
    }
}
