// SPDX-License-Identifier: Apache-2.0

package im.app.plugin;

/** What all interfaces of extension points have in common. Plugins implement those, never this one alone. */
public interface ExtensionPoint {}
