// SPDX-License-Identifier: Apache-2.0

package im.app.plugin;

/**
 * The server that the plugin runs in.
 *
 * @param id the id of the node
 * @param role its role: GATEWAY or SERVICE; in a process with both roles it is the one that calls
 *     the plugin, or the only one that the plugin is for, and SERVICE if neither is known
 * @param version the version of the server
 */
public record Node(String id, String role, String version) {}
