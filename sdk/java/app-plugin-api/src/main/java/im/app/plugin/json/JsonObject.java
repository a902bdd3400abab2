// SPDX-License-Identifier: Apache-2.0

package im.app.plugin.json;

import java.util.Map;
import org.jspecify.annotations.Nullable;

/** Something that is an object in JSON and says itself what is in it. */
public interface JsonObject {

    /**
     * What is in it.
     *
     * @return the values by their names
     */
    Map<String, @Nullable Object> toJson();
}
