// SPDX-License-Identifier: Apache-2.0

/** What rewritten code of plugins calls; plugins can access no other package of the host. */
package im.app.plugin.host.guard;
