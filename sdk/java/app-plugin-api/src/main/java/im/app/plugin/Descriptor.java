// SPDX-License-Identifier: Apache-2.0

package im.app.plugin;

/**
 * The descriptor of a plugin in {@code plugin.yaml}.
 *
 * @param id its id
 * @param version its version; empty if it has none
 */
public record Descriptor(String id, String version) {}
