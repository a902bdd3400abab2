// SPDX-License-Identifier: Apache-2.0

/**
 * How plugins get into the host: class loaders, the checks of their classes, and what is changed in
 * their code.
 */
package im.app.plugin.host.load;
