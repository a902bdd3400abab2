// SPDX-License-Identifier: Apache-2.0

/** Loads plugins: class loaders, checks of classes, and changes of their code. */
package im.app.plugin.host.load;
