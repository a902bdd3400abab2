// SPDX-License-Identifier: Apache-2.0

/** What plugins in Java are written against. */
package im.app.plugin;
