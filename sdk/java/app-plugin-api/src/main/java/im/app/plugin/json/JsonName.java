// SPDX-License-Identifier: Apache-2.0

package im.app.plugin.json;

import java.lang.annotation.Documented;
import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;

/** Sets the name of a record component in JSON, if it differs from the name of the component. */
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
