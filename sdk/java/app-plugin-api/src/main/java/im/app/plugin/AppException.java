// SPDX-License-Identifier: Apache-2.0

package im.app.plugin;

import org.jspecify.annotations.Nullable;

/**
 * Refuses a request with a status code and a reason for the caller. It does not count as an error
 * of the plugin. Refusals of {@link AppExtension#api()} are thrown as this exception as well.
 */
public class AppException extends RuntimeException {

    private static final long serialVersionUID = 1L;

    /** The status code. */
    private final int code;

    /** The reason; may be null. */
    private final @Nullable String reason;

    /**
     * Refuses with the default reason of the code.
     *
     * @param code one of {@link StatusCode}
     */
    public AppException(int code) {
        this(code, null);
    }

    /**
     * Refuses with a reason.
     *
     * @param code one of {@link StatusCode}
     * @param reason the reason for the caller; null means the default reason of the code
     */
    public AppException(int code, @Nullable String reason) {
        this(code, reason, null);
    }

    /**
     * Refuses with a reason and a cause that is only logged.
     *
     * @param code one of {@link StatusCode}
     * @param reason the reason for the caller; null means the default reason of the code
     * @param cause the cause
     */
    public AppException(int code, @Nullable String reason, @Nullable Throwable cause) {
        super(text(code, reason), cause);
        this.code = code;
        this.reason = reason;
    }

    private static String text(int code, @Nullable String reason) {
        String name = StatusCode.name(code);
        String text = reason == null ? StatusCode.text(code) : reason;
        return (name == null ? "" : name) + "(" + code + ")" + (text == null ? "" : ": " + text);
    }

    /**
     * Returns the status code.
     *
     * @return one of {@link StatusCode}
     */
    public int code() {
        return code;
    }

    /**
     * Returns the reason for the caller.
     *
     * @return the reason, or null for the default reason of the code
     */
    public @Nullable String reason() {
        return reason;
    }
}
