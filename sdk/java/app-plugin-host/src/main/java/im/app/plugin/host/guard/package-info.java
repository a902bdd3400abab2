// SPDX-License-Identifier: Apache-2.0

/**
 * The methods that rewritten code of plugins calls. No other package of the host is visible to
 * plugins.
 */
package im.app.plugin.host.guard;
