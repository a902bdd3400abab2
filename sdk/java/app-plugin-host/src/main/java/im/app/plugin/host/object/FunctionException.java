// SPDX-License-Identifier: Apache-2.0

package im.app.plugin.host.object;

/** What a function of another language threw. */
public final class FunctionException extends RuntimeException {
    private static final long serialVersionUID = 1L;

    /** The stack in the other language. */
    private final String stack;

    /**
     * Makes one.
     *
     * @param message what the function threw, as text
     * @param stack where, as text; it may be empty
     * @param cause what Java threw before, or null
     */
    FunctionException(String message, String stack, Throwable cause) {
        super(message, cause);
        this.stack = stack;
    }

    /**
     * Tells where the function was.
     *
     * @return the stack in the other language, or an empty text
     */
    public String functionStack() {
        return stack;
    }
}
