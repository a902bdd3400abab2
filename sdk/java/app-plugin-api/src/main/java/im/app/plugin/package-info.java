// SPDX-License-Identifier: Apache-2.0

/** What plugins in Java are written against. */
@NullMarked
package im.app.plugin;

import org.jspecify.annotations.NullMarked;
