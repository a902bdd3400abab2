// SPDX-License-Identifier: Apache-2.0

/** Runs extensions in unit tests, in a real host and without a server. */
package im.app.plugin.test;
