// SPDX-License-Identifier: Apache-2.0

package im.app.plugin.host.object;

/** An exception of a function in another language. */
public final class FunctionException extends RuntimeException {
    private static final long serialVersionUID = 1L;

    /** The stack in the other language. */
    private final String stack;
    /**
     * The owner of the function, and the number of the exception; null and 0 if it has no number.
     */
    private final transient Owner owner;

    private final int number;

    /**
     * Creates the exception.
     *
     * @param message the exception as text
     * @param stack its stack as text; may be empty
     * @param cause the Java exception that caused it, or null
     */
    FunctionException(String message, String stack, Throwable cause) {
        super(message, cause);
        this.stack = stack;
        owner = null;
        number = 0;
    }

    /**
     * Creates the exception for a value that the other language identifies by a number, which is
     * released after this object is garbage-collected.
     */
    FunctionException(String message, String stack, Owner owner, int number) {
        super(message);
        this.stack = stack;
        this.owner = owner;
        this.number = number;
        owner.add(this, number);
    }

    /** Returns the number of the exception if a function of the owner threw it; null otherwise. */
    Integer number(Owner of) {
        return owner == of ? number : null;
    }

    /**
     * Returns the stack in the other language.
     *
     * @return the stack, or an empty text
     */
    public String functionStack() {
        return stack;
    }
}
