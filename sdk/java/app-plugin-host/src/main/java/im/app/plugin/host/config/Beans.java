// SPDX-License-Identifier: Apache-2.0

package im.app.plugin.host.config;

import java.lang.reflect.Constructor;
import java.lang.reflect.Field;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.lang.reflect.RecordComponent;
import java.lang.reflect.Type;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.Map;

/** Creates records and beans. */
final class Beans {
    private Beans() {}

    /** A configured property: its name in the configuration and its value. */
    private record Given(String name, Object value) {}

    static Object make(Class<?> type, String path, Object value, Object current) {
        if (!(value instanceof Map<?, ?> values)) {
            throw Binder.wrong(path, "not an object", value);
        }
        Map<String, Given> given = new HashMap<>();
        values.forEach((k, v) -> given.put(Binder.canonical(String.valueOf(k)), new Given(String.valueOf(k), v)));
        if (type.isRecord()) {
            return record(type, path, given);
        }
        Object bean = current != null ? current : instance(type, path);
        fill(bean, path, given);
        return bean;
    }

    private static String below(String path, String name) {
        return path.isEmpty() ? name : path + "." + name;
    }

    private static Object record(Class<?> type, String path, Map<String, Given> given) {
        RecordComponent[] components = type.getRecordComponents();
        Class<?>[] types = new Class<?>[components.length];
        Object[] args = new Object[components.length];
        for (int i = 0; i < components.length; i++) {
            RecordComponent c = components[i];
            types[i] = c.getType();
            Given g = given.get(Binder.canonical(c.getName()));
            args[i] = g == null || g.value == null
                    ? Binder.absent(c.getGenericType(), below(path, c.getName()))
                    : Binder.convert(c.getGenericType(), below(path, g.name), g.value, null);
        }
        try {
            Constructor<?> constructor = type.getDeclaredConstructor(types);
            constructor.setAccessible(true);
            return constructor.newInstance(args);
        } catch (InvocationTargetException e) {
            throw refused(type, path, e.getCause());
        } catch (ReflectiveOperationException e) {
            throw new IllegalArgumentException("property '" + path + "': no instance of class " + type.getName() + " can be made", e);
        }
    }

    private static IllegalArgumentException refused(Class<?> type, String path, Throwable cause) {
        return new IllegalArgumentException("property '" + path + "': class " + type.getName() + " refused it: " + cause.getMessage(), cause);
    }

    private static Object instance(Class<?> type, String path) {
        if (type.isInterface() || Modifier.isAbstract(type.getModifiers())) {
            throw new IllegalArgumentException("property '" + path + "': class " + type.getName() + " is abstract, so it cannot be filled");
        }
        try {
            Constructor<?> constructor = type.getDeclaredConstructor();
            constructor.setAccessible(true);
            return constructor.newInstance();
        } catch (InvocationTargetException e) {
            throw refused(type, path, e.getCause());
        } catch (NoSuchMethodException e) {
            throw new IllegalArgumentException("property '" + path + "': class " + type.getName()
                    + " must have a constructor without arguments, or be a record");
        } catch (ReflectiveOperationException | RuntimeException e) {
            throw new IllegalArgumentException("property '" + path + "': no instance of class " + type.getName() + " can be made", e);
        }
    }

    private static void fill(Object bean, String path, Map<String, Given> given) {
        Map<String, Method> setters = setters(bean.getClass());
        Map<String, Field> fields = fields(bean.getClass());
        Map<String, Type> all = new LinkedHashMap<>();
        fields.forEach((name, f) -> all.put(name, f.getGenericType()));
        setters.forEach((name, m) -> all.put(name, m.getGenericParameterTypes()[0]));
        all.forEach((name, type) -> {
            Given g = given.get(name);
            if (g == null || g.value == null) {
                return;
            }
            String at = below(path, g.name);
            Field field = fields.get(name);
            Method setter = setters.get(name);
            Object current = field == null ? null : read(field, bean);
            Object value = Binder.convert(type, at, g.value, nested(type, current));
            try {
                if (setter != null) {
                    setter.invoke(bean, value);
                } else if (value != current) {
                    field.set(bean, value);
                }
            } catch (InvocationTargetException e) {
                throw refused(bean.getClass(), at, e.getCause());
            } catch (IllegalAccessException e) {
                throw new IllegalArgumentException("property '" + at + "': field " + field.getName() + " of class "
                        + field.getDeclaringClass().getName() + " is final", e);
            }
        });
    }

    /** Returns the current value if it is a bean to be filled; null if a value must be created. */
    private static Object nested(Type type, Object current) {
        return current != null && Binder.raw(type).isInstance(current) && !current.getClass().isRecord() ? current : null;
    }

    private static Object read(Field field, Object bean) {
        try {
            return field.get(bean);
        } catch (IllegalAccessException e) {
            return null;
        }
    }

    private static Map<String, Method> setters(Class<?> type) {
        Map<String, Method> out = new LinkedHashMap<>();
        for (Class<?> c = type; c != null && c != Object.class; c = c.getSuperclass()) {
            for (Method m : c.getDeclaredMethods()) {
                String name = m.getName();
                if (name.length() > 3 && name.startsWith("set") && m.getParameterCount() == 1 && Modifier.isPublic(m.getModifiers())
                        && !Modifier.isStatic(m.getModifiers()) && !m.isBridge()) {
                    m.setAccessible(true);
                    out.putIfAbsent(Binder.canonical(name.substring(3)), m);
                }
            }
        }
        return out;
    }

    private static Map<String, Field> fields(Class<?> type) {
        Map<String, Field> out = new LinkedHashMap<>();
        for (Class<?> c = type; c != null && c != Object.class; c = c.getSuperclass()) {
            for (Field f : c.getDeclaredFields()) {
                if (!Modifier.isStatic(f.getModifiers()) && !Modifier.isTransient(f.getModifiers()) && !f.isSynthetic()) {
                    f.setAccessible(true);
                    out.putIfAbsent(Binder.canonical(f.getName()), f);
                }
            }
        }
        return out;
    }
}
