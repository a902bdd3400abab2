// SPDX-License-Identifier: Apache-2.0

/** Passes everything that plugins write to the log of the server. */
package im.app.plugin.host.log;
