// SPDX-License-Identifier: Apache-2.0

/** Fills objects of plugins with the properties of the server. */
package im.app.plugin.host.config;
