// SPDX-License-Identifier: Apache-2.0

package im.app.plugin;

import org.jspecify.annotations.Nullable;

/**
 * Refuses what was asked for with a status code and a text that the caller reads. It is not counted as an error of the
 * plugin. What {@link AppExtension#api()} refuses is thrown as this exception as well.
 */
public class AppException extends RuntimeException {

    private static final long serialVersionUID = 1L;

    /** The status code. */
    private final int code;

    /** The text, which may be null. */
    private final @Nullable String reason;

    /**
     * Refuses with the text that belongs to the code.
     *
     * @param code one of {@link StatusCode}
     */
    public AppException(int code) {
        this(code, null);
    }

    /**
     * Refuses with a text.
     *
     * @param code one of {@link StatusCode}
     * @param reason what the caller reads
     */
    public AppException(int code, @Nullable String reason) {
        this(code, reason, null);
    }

    /**
     * Refuses with a text because of something that only the log shows.
     *
     * @param code one of {@link StatusCode}
     * @param reason what the caller reads
     * @param cause why
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
     * The status code.
     *
     * @return one of {@link StatusCode}
     */
    public int code() {
        return code;
    }

    /**
     * The text that the caller reads.
     *
     * @return the text, or null for the one that belongs to the code
     */
    public @Nullable String reason() {
        return reason;
    }
}
