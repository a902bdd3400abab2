// SPDX-License-Identifier: Apache-2.0

package im.app.plugin.json;

import java.math.BigInteger;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.regex.Pattern;

/** Parses one JSON document. */
final class JsonReader {

    private static final int MAX_DEPTH = 512;
    private static final Pattern NUMBER = Pattern.compile("-?(0|[1-9][0-9]*)(\\.[0-9]+)?([eE][+-]?[0-9]+)?");

    private final String text;
    private int at;
    private int depth;

    JsonReader(String text) {
        this.text = text;
    }

    Object document() {
        Object value = value();
        space();
        if (at < text.length()) {
            throw wrong("something follows the value");
        }
        return value;
    }

    private JsonException wrong(String what) {
        return new JsonException("the JSON is wrong at character " + (at + 1) + ": " + what);
    }

    private void space() {
        while (at < text.length() && " \t\r\n".indexOf(text.charAt(at)) >= 0) {
            at++;
        }
    }

    private boolean next(char c) {
        space();
        if (at < text.length() && text.charAt(at) == c) {
            at++;
            return true;
        }
        return false;
    }

    private void expect(char c) {
        if (!next(c)) {
            throw wrong("there must be " + c);
        }
    }

    private Object value() {
        space();
        if (at >= text.length()) {
            throw wrong("it ends too early");
        }
        switch (text.charAt(at)) {
            case '{':
                return nested(this::object);
            case '[':
                return nested(this::array);
            case '"':
                return string();
            case 't':
                return word("true", Boolean.TRUE);
            case 'f':
                return word("false", Boolean.FALSE);
            case 'n':
                return word("null", null);
            default:
                return number();
        }
    }

    private Object nested(java.util.function.Supplier<Object> read) {
        if (++depth > MAX_DEPTH) {
            throw wrong("it is nested more than " + MAX_DEPTH + " times");
        }
        at++;
        Object value = read.get();
        depth--;
        return value;
    }

    private Object word(String word, Object value) {
        if (!text.startsWith(word, at)) {
            throw wrong("there must be a value");
        }
        at += word.length();
        return value;
    }

    private Map<String, Object> object() {
        Map<String, Object> map = new LinkedHashMap<>();
        if (next('}')) {
            return map;
        }
        do {
            space();
            if (at >= text.length() || text.charAt(at) != '"') {
                throw wrong("there must be a name in quotes");
            }
            String name = string();
            expect(':');
            map.put(name, value());
        } while (next(','));
        expect('}');
        return map;
    }

    private List<Object> array() {
        List<Object> list = new ArrayList<>();
        if (next(']')) {
            return list;
        }
        do {
            list.add(value());
        } while (next(','));
        expect(']');
        return list;
    }

    private String string() {
        StringBuilder out = new StringBuilder();
        at++;
        for (; at < text.length(); at++) {
            char c = text.charAt(at);
            if (c == '"') {
                at++;
                return out.toString();
            }
            if (c < ' ') {
                throw wrong("a text holds a control character");
            }
            out.append(c == '\\' ? escape() : c);
        }
        throw wrong("a text does not end");
    }

    private char escape() {
        at++;
        if (at >= text.length()) {
            throw wrong("a text does not end");
        }
        switch (text.charAt(at)) {
            case '"':
                return '"';
            case '\\':
                return '\\';
            case '/':
                return '/';
            case 'b':
                return '\b';
            case 'f':
                return '\f';
            case 'n':
                return '\n';
            case 'r':
                return '\r';
            case 't':
                return '\t';
            case 'u':
                return unicode();
            default:
                throw wrong("there is no such escape");
        }
    }

    private char unicode() {
        int code = 0;
        for (int i = 0; i < 4; i++) {
            at++;
            int digit = at < text.length() ? Character.digit(text.charAt(at), 16) : -1;
            if (digit < 0) {
                throw wrong("\\u needs four hexadecimal digits");
            }
            code = code * 16 + digit;
        }
        return (char) code;
    }

    private Object number() {
        int from = at;
        boolean whole = true;
        for (; at < text.length() && "+-0123456789.eE".indexOf(text.charAt(at)) >= 0; at++) {
            whole &= ".eE".indexOf(text.charAt(at)) < 0;
        }
        String digits = text.substring(from, at);
        if (!NUMBER.matcher(digits).matches()) {
            at = from;
            throw wrong("there must be a value");
        }
        if (!whole) {
            return Double.valueOf(digits);
        }
        try {
            return Long.valueOf(digits);
        } catch (NumberFormatException e) {
            return new BigInteger(digits);
        }
    }
}
