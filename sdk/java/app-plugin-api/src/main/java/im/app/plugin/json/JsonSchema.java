// SPDX-License-Identifier: Apache-2.0

package im.app.plugin.json;

import java.lang.annotation.Documented;
import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;

/**
 * Defines the JSON Schema of a record component in addition to its type. Components are required
 * unless they are {@link #optional()} or have a {@link #defaultValue()}. {@link JsonName} sets the
 * name.
 *
 * <pre>{@code
 * record Query(
 *         @JsonSchema(minimum = 1, maximum = 100, defaultValue = "10") int top,
 *         @JsonSchema(optional = true) String name) {}
 * }</pre>
 */
@Documented
@Target(ElementType.RECORD_COMPONENT)
@Retention(RetentionPolicy.RUNTIME)
public @interface JsonSchema {

    /**
     * The description of the component, for the documentation.
     *
     * @return a sentence; empty for none
     */
    String description() default "";

    /**
     * Whether the component may be missing. A missing component is null, or 0 or false if its type
     * is primitive.
     *
     * @return whether it may be missing
     */
    boolean optional() default false;

    /**
     * The value of a missing component.
     *
     * @return JSON, such as {@code 10} or {@code "name"} in quotes; empty for none
     */
    String defaultValue() default "";

    /**
     * The minimum of a number, inclusive.
     *
     * @return the number
     */
    double minimum() default Double.NEGATIVE_INFINITY;

    /**
     * The maximum of a number, inclusive.
     *
     * @return the number
     */
    double maximum() default Double.POSITIVE_INFINITY;

    /**
     * The minimum length of a text, or number of items of a list.
     *
     * @return the length
     */
    int minLength() default 0;

    /**
     * The maximum length of a text, or number of items of a list.
     *
     * @return the length
     */
    int maxLength() default Integer.MAX_VALUE;

    /**
     * A regular expression that a text must match.
     *
     * @return the expression; empty for none
     */
    String pattern() default "";

    /**
     * The format of a text, such as {@code uri}. Audit records do not show texts with the format
     * {@code password}.
     *
     * @return the name of the format; empty for none
     */
    String format() default "";
}
