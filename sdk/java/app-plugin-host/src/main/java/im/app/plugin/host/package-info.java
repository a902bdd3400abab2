// SPDX-License-Identifier: Apache-2.0

/** The program in which the server runs plugins in Java. */
package im.app.plugin.host;
