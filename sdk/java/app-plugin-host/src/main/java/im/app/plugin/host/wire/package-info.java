// SPDX-License-Identifier: Apache-2.0

/**
 * The wire protocol between the server and the host: values, frames, and their readers and writers.
 */
package im.app.plugin.host.wire;
