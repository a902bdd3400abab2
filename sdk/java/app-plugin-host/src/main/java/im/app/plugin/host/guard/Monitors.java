// SPDX-License-Identifier: Apache-2.0

package im.app.plugin.host.guard;

/** Prevents plugins from locking instances of primitive wrapper classes, which may be shared. */
public final class Monitors {
    private Monitors() {}

    /**
     * Called before each {@code synchronized} block of a plugin.
     *
     * @param lock the object to lock
     * @throws IllegalMonitorStateException if it is an instance of a primitive wrapper class
     */
    public static void check(Object lock) {
        // All wrapper classes are final, so each test is a comparison of pointers.
        if (lock instanceof Integer || lock instanceof Long || lock instanceof Boolean || lock instanceof Character
                || lock instanceof Byte || lock instanceof Short || lock instanceof Double || lock instanceof Float) {
            throw new IllegalMonitorStateException("synchronized on an instance of " + lock.getClass().getName()
                    + ": instances of primitive wrapper classes are shared, lock an object of your own instead");
        }
    }
}
