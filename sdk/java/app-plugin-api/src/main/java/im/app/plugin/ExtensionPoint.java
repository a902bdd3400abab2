// SPDX-License-Identifier: Apache-2.0

package im.app.plugin;

/**
 * The common superinterface of all extension points. Plugins implement those, never this one alone.
 */
public interface ExtensionPoint {}
