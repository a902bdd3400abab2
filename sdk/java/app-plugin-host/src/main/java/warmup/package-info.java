// SPDX-License-Identifier: Apache-2.0

/** A plugin that does nothing, which a JVM without plugins loads and calls so that the first real one finds everything ready. */
package warmup;
