// SPDX-License-Identifier: Apache-2.0

package im.app.plugin.host.guard;

/** Keeps plugins from locking instances that anybody may share with them without knowing. */
public final class Monitors {
    private Monitors() {}

    /**
     * Is called before each {@code synchronized} block of a plugin.
     *
     * @param lock what the block is about to lock
     * @throws IllegalMonitorStateException if it is an instance of a primitive wrapper class
     */
    public static void check(Object lock) {
        // All wrapper classes are final, so each comparison is of two pointers.
        if (lock instanceof Integer || lock instanceof Long || lock instanceof Boolean || lock instanceof Character
                || lock instanceof Byte || lock instanceof Short || lock instanceof Double || lock instanceof Float) {
            throw new IllegalMonitorStateException("synchronized on an instance of " + lock.getClass().getName()
                    + ": instances of primitive wrapper classes are shared, lock an object of your own instead");
        }
    }
}
