// SPDX-License-Identifier: Apache-2.0

package im.app.plugin;

/**
 * What a plugin says of itself in {@code plugin.yaml}.
 *
 * @param id its id
 * @param version its version; empty if it says none
 */
public record Descriptor(String id, String version) {}
