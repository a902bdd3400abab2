// SPDX-License-Identifier: Apache-2.0

/** Java classes and objects for plugins in other languages, which refer to them by handles. */
package im.app.plugin.host.object;
