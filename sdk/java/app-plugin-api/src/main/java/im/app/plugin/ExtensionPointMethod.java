// SPDX-License-Identifier: Apache-2.0

package im.app.plugin;

import java.lang.annotation.Documented;
import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;

/**
 * Marks a method of an extension that an extension point declares. It may be left out. A plugin in which a method is marked
 * that no extension point of its class declares is rejected when it is loaded, rather than never called.
 */
@Documented
@Target(ElementType.METHOD)
@Retention(RetentionPolicy.RUNTIME)
public @interface ExtensionPointMethod {}
