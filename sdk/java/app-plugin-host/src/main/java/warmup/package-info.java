// SPDX-License-Identifier: Apache-2.0

/**
 * A plugin without effect, which a JVM without plugins loads and calls so that the first real one
 * loads faster.
 */
package warmup;
