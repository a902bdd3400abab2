// SPDX-License-Identifier: Apache-2.0

/** The program in which the server runs Java plugins. */
package im.app.plugin.host;
