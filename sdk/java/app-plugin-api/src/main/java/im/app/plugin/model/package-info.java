// SPDX-License-Identifier: Apache-2.0

/** What extension points get and answer. */
package im.app.plugin.model;
