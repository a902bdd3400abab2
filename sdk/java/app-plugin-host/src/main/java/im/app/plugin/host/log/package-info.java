// SPDX-License-Identifier: Apache-2.0

/** How what plugins write, in whichever way, gets into the log of the server. */
package im.app.plugin.host.log;
