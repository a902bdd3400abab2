// SPDX-License-Identifier: Apache-2.0

/** The types of parameters and results of extension points. */
@NullMarked
package im.app.plugin.model;

import org.jspecify.annotations.NullMarked;
