// SPDX-License-Identifier: Apache-2.0

package im.app.plugin.test;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * Properties with names such as {@code a.b-c[0].d}, which are converted to nested maps and lists as
 * on a server.
 */
final class Properties {
    private static final Pattern PART = Pattern.compile("([^.\\[\\]]+)|\\[(\\d+)]");

    private final Map<String, Object> root = new LinkedHashMap<>();

    private static List<Object> path(String name) {
        List<Object> parts = new ArrayList<>();
        Matcher m = PART.matcher(name);
        while (m.find()) {
            parts.add(m.group(1) != null ? camel(m.group(1)) : Integer.valueOf(m.group(2)));
        }
        return parts;
    }

    private static String camel(String name) {
        StringBuilder out = new StringBuilder();
        boolean up = false;
        for (char c : name.toCharArray()) {
            if (c == '-') {
                up = true;
            } else {
                out.append(up ? Character.toUpperCase(c) : c);
                up = false;
            }
        }
        return out.toString();
    }

    private static Object typed(Object value) {
        if (!(value instanceof String text)) {
            return value;
        }
        if (text.equals("true") || text.equals("false")) {
            return Boolean.valueOf(text);
        }
        if (text.matches("-?(0|[1-9][0-9]{0,17})")) {
            return Long.valueOf(text);
        }
        if (text.matches("-?[0-9]+\\.[0-9]+")) {
            return Double.valueOf(text);
        }
        return text;
    }

    synchronized void set(String name, Object value) {
        List<Object> parts = path(name);
        if (parts.isEmpty() || "app".equals(parts.getFirst())) {
            throw new IllegalArgumentException("\"" + name + "\" is not a property of a plugin: its name must not begin with app");
        }
        Object at = root;
        for (int i = 0; i < parts.size(); i++) {
            Object next = i + 1 == parts.size() ? typed(value) : parts.get(i + 1) instanceof Integer ? new ArrayList<>() : new LinkedHashMap<String, Object>();
            at = put(at, parts.get(i), next, i + 1 == parts.size());
        }
    }

    @SuppressWarnings("unchecked")
    private static Object put(Object container, Object key, Object value, boolean last) {
        if (key instanceof Integer index) {
            List<Object> list = (List<Object>) container;
            while (list.size() <= index) {
                list.add(null);
            }
            if (last || list.get(index) == null) {
                list.set(index, value);
            }
            return list.get(index);
        }
        Map<String, Object> map = (Map<String, Object>) container;
        if (last) {
            map.put((String) key, value);
        } else {
            map.putIfAbsent((String) key, value);
        }
        return map.get(key);
    }

    /** Returns the properties below a prefix; empty if there are none. */
    synchronized Object below(String prefix) {
        Object at = root;
        for (Object part : path(prefix)) {
            at = at instanceof Map<?, ?> map ? map.get(part) : null;
        }
        return at == null ? Map.of() : at;
    }
}
