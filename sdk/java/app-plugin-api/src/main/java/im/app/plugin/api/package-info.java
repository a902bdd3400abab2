// SPDX-License-Identifier: Apache-2.0

/** The operations of the admin interface. */
package im.app.plugin.api;
