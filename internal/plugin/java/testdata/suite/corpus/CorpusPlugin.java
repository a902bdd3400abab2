// SPDX-License-Identifier: Apache-2.0

package corpus;

import im.app.plugin.AppExtension;
import im.app.plugin.AppPlugin;
import java.util.Collection;
import java.util.List;

/** Does what the file kind.txt in its jar says. */
public class CorpusPlugin extends AppPlugin {
    public CorpusPlugin() throws Exception {
        Kind.act("load");
    }

    @Override
    public Collection<Class<? extends AppExtension>> getExtensions() {
        return switch (Kind.KIND) {
            case "extensions null" -> null;
            case "extensions empty" -> List.of();
            default -> List.of(Actor.class);
        };
    }
}
