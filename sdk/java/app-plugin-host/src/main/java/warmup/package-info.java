// SPDX-License-Identifier: Apache-2.0

/**
 * A plugin without effect. A JVM without plugins loads and calls it, so that the first real plugin
 * loads faster.
 */
package warmup;
