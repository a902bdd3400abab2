// SPDX-License-Identifier: Apache-2.0

package im.app.plugin.host.wire;

/**
 * Ensures that there is room on the stack before an operation that must not be interrupted. A
 * plugin with infinite recursion gets its StackOverflowError here instead of while a frame is being
 * sent, where a lock would stay held or a thread would not be woken.
 */
public final class StackRoom {
    private static final int DEPTH = 400;

    private StackRoom() {}

    /**
     * Uses some of the stack, and releases it.
     *
     * @throws StackOverflowError if there is not enough
     */
    public static void ensure() {
        if (use(DEPTH, 1, 2, 3, 4, 5, 6, 7) == 0) {
            throw new AssertionError("arithmetic is broken");
        }
    }

    /** Needs about a hundred bytes of stack per step. */
    private static long use(int depth, long a, long b, long c, long d, long e, long f, long g) {
        if (depth == 0) {
            return 1 | a;
        }
        return use(depth - 1, b, c, d, e, f, g, a) | (a ^ b ^ c ^ d ^ e ^ f ^ g) << 1;
    }
}
