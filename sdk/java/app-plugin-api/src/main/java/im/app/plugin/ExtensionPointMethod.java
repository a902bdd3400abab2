// SPDX-License-Identifier: Apache-2.0

package im.app.plugin;

import java.lang.annotation.Documented;
import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;

/**
 * Marks a method of an extension as declared by an extension point. It is optional. If no extension
 * point of the class declares a marked method, the plugin is rejected when it is loaded; without
 * the annotation, the method would never be called.
 */
@Documented
@Target(ElementType.METHOD)
@Retention(RetentionPolicy.RUNTIME)
public @interface ExtensionPointMethod {}
