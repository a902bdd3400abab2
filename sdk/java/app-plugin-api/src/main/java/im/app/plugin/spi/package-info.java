// SPDX-License-Identifier: Apache-2.0

/** What hosts offer to extensions. Plugins do not use it. */
@NullMarked
package im.app.plugin.spi;

import org.jspecify.annotations.NullMarked;
