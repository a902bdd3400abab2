// SPDX-License-Identifier: Apache-2.0

/** The operations of the admin interface. */
@NullMarked
package im.app.plugin.api;

import org.jspecify.annotations.NullMarked;
