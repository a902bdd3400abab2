// SPDX-License-Identifier: Apache-2.0

package im.app.plugin.json;

import java.lang.annotation.Documented;
import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;

/**
 * What the JSON Schema of a component of a record says beside its type. Components are required
 * unless they are {@link #optional()} or have a {@link #defaultValue()}. The name is that of {@link
 * JsonName}, if there is one.
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
     * What the component is, for the documentation.
     *
     * @return a sentence
     */
    String description() default "";

    /**
     * Whether the component may be missing. It is null then, or 0 or false if its type is
     * primitive.
     *
     * @return whether it may
     */
    boolean optional() default false;

    /**
     * What the component is if it is missing.
     *
     * @return JSON, such as {@code 10} or {@code "name"} in quotes
     */
    String defaultValue() default "";

    /**
     * The least number.
     *
     * @return the number, which is allowed
     */
    double minimum() default Double.NEGATIVE_INFINITY;

    /**
     * The greatest number.
     *
     * @return the number, which is allowed
     */
    double maximum() default Double.POSITIVE_INFINITY;

    /**
     * The least length of a text, or number of items of a list.
     *
     * @return the length
     */
    int minLength() default 0;

    /**
     * The greatest length of a text, or number of items of a list.
     *
     * @return the length
     */
    int maxLength() default Integer.MAX_VALUE;

    /**
     * A regular expression that a text matches.
     *
     * @return the expression
     */
    String pattern() default "";

    /**
     * The format of a text, such as {@code uri}. Audit records do not show texts with the format
     * {@code password}.
     *
     * @return the name of the format
     */
    String format() default "";
}
