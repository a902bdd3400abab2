// SPDX-License-Identifier: Apache-2.0

package im.app.plugin;

/** The common superinterface of all extension points. Plugins never implement it directly. */
public interface ExtensionPoint {}
