// SPDX-License-Identifier: Apache-2.0

package im.app.plugin.json;

import java.util.Map;
import org.jspecify.annotations.Nullable;

/** A type that defines its own representation as a JSON object. */
public interface JsonObject {

    /**
     * Returns the members of the JSON object.
     *
     * @return the values by name
     */
    Map<String, @Nullable Object> toJson();
}
