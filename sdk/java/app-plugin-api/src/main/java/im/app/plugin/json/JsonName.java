// SPDX-License-Identifier: Apache-2.0

package im.app.plugin.json;

import java.lang.annotation.Documented;
import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;

/** The name that a component of a record has in JSON, if it is not its own. */
@Documented
@Target(ElementType.RECORD_COMPONENT)
@Retention(RetentionPolicy.RUNTIME)
public @interface JsonName {

    /**
     * The name in JSON.
     *
     * @return the name
     */
    String value();
}
