// SPDX-License-Identifier: Apache-2.0

/** The interface between hosts, generated code and extensions. Plugins do not use it. */
@NullMarked
package im.app.plugin.spi;

import org.jspecify.annotations.NullMarked;
