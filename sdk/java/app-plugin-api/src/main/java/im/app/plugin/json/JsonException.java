// SPDX-License-Identifier: Apache-2.0

package im.app.plugin.json;

/** A text that is not JSON, or a value that is not what was expected. */
public class JsonException extends RuntimeException {

    private static final long serialVersionUID = 1L;

    /**
     * Makes one.
     *
     * @param message what is wrong, and where
     */
    public JsonException(String message) {
        super(message);
    }
}
