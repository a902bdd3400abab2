// SPDX-License-Identifier: Apache-2.0

package im.app.plugin.json;

/** Thrown if a text is not valid JSON, or if a value or a type cannot be converted. */
public class JsonException extends RuntimeException {

    private static final long serialVersionUID = 1L;

    /**
     * Creates the exception.
     *
     * @param message the error and its location
     */
    public JsonException(String message) {
        super(message);
    }
}
