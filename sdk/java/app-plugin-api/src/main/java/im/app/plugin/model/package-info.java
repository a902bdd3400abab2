// SPDX-License-Identifier: Apache-2.0

/** What extension points get and answer. */
@NullMarked
package im.app.plugin.model;

import org.jspecify.annotations.NullMarked;
