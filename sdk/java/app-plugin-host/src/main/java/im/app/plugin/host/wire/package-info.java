// SPDX-License-Identifier: Apache-2.0

/**
 * The bytes on the pipes between the server and the host: values, frames, and their readers and
 * writers.
 */
package im.app.plugin.host.wire;
