// SPDX-License-Identifier: Apache-2.0

/** The API for plugins in Java. */
@NullMarked
package im.app.plugin;

import org.jspecify.annotations.NullMarked;
