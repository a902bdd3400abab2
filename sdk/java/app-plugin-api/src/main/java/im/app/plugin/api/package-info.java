// SPDX-License-Identifier: Apache-2.0

/**
 * {@link im.app.plugin.api.Api}, the entry point to the operations of the admin API, and the types
 * that several of their packages share.
 */
@NullMarked
package im.app.plugin.api;

import org.jspecify.annotations.NullMarked;
