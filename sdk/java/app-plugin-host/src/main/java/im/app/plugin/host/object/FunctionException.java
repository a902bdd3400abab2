// SPDX-License-Identifier: Apache-2.0

package im.app.plugin.host.object;

/** What a function of another language threw. */
public final class FunctionException extends RuntimeException {
    private static final long serialVersionUID = 1L;

    /** The stack in the other language. */
    private final String stack;
    /** Whose the function is, and the number of what it threw; null and 0 if it is not known by a number. */
    private final transient Owner owner;

    private final int number;

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
        owner = null;
        number = 0;
    }

    /** Makes one for something that the other language knows by a number, which it may forget when this is collected. */
    FunctionException(String message, String stack, Owner owner, int number) {
        super(message);
        this.stack = stack;
        this.owner = owner;
        this.number = number;
        owner.add(this, number);
    }

    /** Tells the number of what a function of an owner threw, null if there is none. */
    Integer number(Owner of) {
        return owner == of ? number : null;
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
