// SPDX-License-Identifier: Apache-2.0

package im.app.plugin.host.object;

import java.lang.reflect.Constructor;
import java.lang.reflect.Executable;
import java.lang.reflect.Field;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.atomic.AtomicInteger;

/** The accessible public members of a class, cached by class. */
final class Members {
    private static final AtomicInteger NUMBERS = new AtomicInteger();
    private static final ClassValue<Members> ALL = new ClassValue<>() {
        @Override
        protected Members computeValue(Class<?> type) {
            return new Members(type);
        }
    };

    final Class<?> type;
    /** The numbers of the class for its instances, and for the class itself. */
    final int number = NUMBERS.incrementAndGet();

    final int staticNumber = NUMBERS.incrementAndGet();
    final Map<String, List<Executable>> methods = new TreeMap<>();
    final Map<String, List<Executable>> staticMethods = new TreeMap<>();
    final Map<String, Field> fields = new TreeMap<>();
    final Map<String, Field> staticFields = new TreeMap<>();
    final Map<String, Class<?>> nested = new TreeMap<>();
    final List<Executable> constructors = new ArrayList<>();

    static Members of(Class<?> type) {
        return ALL.get(type);
    }

    private Members(Class<?> type) {
        this.type = type;
        Set<Class<?>> all = new LinkedHashSet<>();
        for (Class<?> c = type; c != null; c = c.getSuperclass()) {
            all.add(c);
        }
        for (Class<?> c : new ArrayList<>(all)) {
            interfaces(c, all);
        }
        for (Class<?> c : all) {
            if (usable(c)) {
                add(c);
            }
        }
        if (usable(type) && !Modifier.isAbstract(type.getModifiers())) {
            for (Constructor<?> c : type.getConstructors()) {
                constructors.add(c);
            }
        }
        Comparator<Executable> order = Comparator.comparing(Executable::toString);
        methods.values().forEach(l -> l.sort(order));
        staticMethods.values().forEach(l -> l.sort(order));
        constructors.sort(order);
    }

    private static void interfaces(Class<?> c, Set<Class<?>> into) {
        for (Class<?> i : c.getInterfaces()) {
            if (into.add(i)) {
                interfaces(i, into);
            }
        }
    }

    /** Returns whether members of a class can be called from outside its package and its module. */
    private static boolean usable(Class<?> c) {
        for (Class<?> outer = c; outer != null; outer = outer.getEnclosingClass()) {
            if (!Modifier.isPublic(outer.getModifiers())) {
                return false;
            }
        }
        return c.getModule().isExported(c.getPackageName(), Members.class.getModule());
    }

    private void add(Class<?> c) {
        for (Method m : c.getDeclaredMethods()) {
            boolean isStatic = Modifier.isStatic(m.getModifiers());
            if (Modifier.isPublic(m.getModifiers()) && (!isStatic || !c.isInterface() || c == type)) {
                add(isStatic ? staticMethods : methods, m);
            }
        }
        for (Field f : c.getDeclaredFields()) {
            if (Modifier.isPublic(f.getModifiers())) {
                (Modifier.isStatic(f.getModifiers()) ? staticFields : fields).putIfAbsent(f.getName(), f);
            }
        }
        for (Class<?> n : c.getDeclaredClasses()) {
            if (Modifier.isPublic(n.getModifiers())) {
                nested.putIfAbsent(n.getSimpleName(), n);
            }
        }
    }

    /** Adds a method unless a more derived class declares it. */
    private static void add(Map<String, List<Executable>> to, Method m) {
        List<Executable> same = to.computeIfAbsent(m.getName(), n -> new ArrayList<>());
        for (int i = 0; i < same.size(); i++) {
            Method other = (Method) same.get(i);
            if (Arrays.equals(other.getParameterTypes(), m.getParameterTypes())) {
                if (other.isBridge() && !m.isBridge() && other.getDeclaringClass() == m.getDeclaringClass()) {
                    same.set(i, m);
                }
                return;
            }
        }
        same.add(m);
    }
}
