// SPDX-License-Identifier: Apache-2.0

/** What hosts offer to extensions. Plugins do not use it. */
package im.app.plugin.spi;
