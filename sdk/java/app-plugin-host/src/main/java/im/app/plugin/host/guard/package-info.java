// SPDX-License-Identifier: Apache-2.0

/** What the rewritten code of plugins calls; of the host's packages only this one can be seen by plugins. */
package im.app.plugin.host.guard;
