// SPDX-License-Identifier: Apache-2.0

/** Classes and objects of Java for plugins in other languages, which know them by handles. */
package im.app.plugin.host.object;
