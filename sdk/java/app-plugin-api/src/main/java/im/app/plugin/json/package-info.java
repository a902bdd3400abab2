// SPDX-License-Identifier: Apache-2.0

/** A small reader and writer of JSON. */
@NullMarked
package im.app.plugin.json;

import org.jspecify.annotations.NullMarked;
