// SPDX-License-Identifier: Apache-2.0

/** A small reader and writer of JSON. */
package im.app.plugin.json;
