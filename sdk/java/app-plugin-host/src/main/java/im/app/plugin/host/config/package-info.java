// SPDX-License-Identifier: Apache-2.0

/** Binds the server's properties to objects of plugins. */
package im.app.plugin.host.config;
