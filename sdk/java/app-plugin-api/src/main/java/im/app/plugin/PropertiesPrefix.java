// SPDX-License-Identifier: Apache-2.0

package im.app.plugin;

import java.lang.annotation.Documented;
import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;

/** The prefix of a class's properties in the server's configuration. */
@Documented
@Target(ElementType.TYPE)
@Retention(RetentionPolicy.RUNTIME)
public @interface PropertiesPrefix {

    /**
     * Returns the prefix, for example {@code word-filter}. It must not begin with {@code app},
     * which is reserved for the server.
     *
     * @return the prefix
     */
    String value();
}
