// SPDX-License-Identifier: Apache-2.0

/** Redirects the output of plugins to the log of the server, and handles exhausted memory. */
package im.app.plugin.host.log;
