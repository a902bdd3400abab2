// SPDX-License-Identifier: Apache-2.0

package im.app.plugin.host.load;

import im.app.plugin.AppExtension;
import im.app.plugin.ExtensionPointMethod;
import im.app.plugin.host.generated.Dispatch;
import im.app.plugin.host.generated.MethodInfo;
import im.app.plugin.host.generated.PointInfo;
import java.lang.reflect.Constructor;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.stream.Collectors;

/** A checked class of a plugin that implements extension points or has endpoints. */
public final class ExtensionClass {
    private final Class<? extends AppExtension> type;
    private final Constructor<? extends AppExtension> constructor;
    private final List<PointInfo> points = new ArrayList<>();
    private final List<Integer> methods = new ArrayList<>();
    private final boolean[] async = new boolean[methodCount()];

    ExtensionClass(Class<?> c, List<String> warnings) throws LoadException {
        String name = c.getName();
        if (!AppExtension.class.isAssignableFrom(c)) {
            throw new LoadException("class " + name + " is among the extensions of the plugin, so it must extend " + AppExtension.class.getName());
        }
        type = c.asSubclass(AppExtension.class);
        constructor = publicConstructor(type);
        for (PointInfo point : Dispatch.POINTS) {
            if (point.type().isAssignableFrom(c)) {
                points.add(point);
                addMethods(point, warnings);
            }
        }
        if (points.isEmpty() && !hasEndpoints(c)) {
            throw new LoadException("class " + name + " implements no extension point; an extension implements at least one of "
                    + names(Dispatch.POINTS) + ", or has endpoints");
        }
        checkAnnotated();
    }

    private static boolean hasEndpoints(Class<?> c) {
        try {
            return c.getMethod("getEndpoints").getDeclaringClass() != AppExtension.class;
        } catch (NoSuchMethodException e) {
            throw new IllegalStateException(e); // AppExtension declares it.
        }
    }

    private static int methodCount() {
        PointInfo last = Dispatch.POINTS.get(Dispatch.POINTS.size() - 1);
        return last.first() + last.methods().size();
    }

    private static String names(List<PointInfo> points) {
        return points.stream().map(p -> p.type().getSimpleName()).collect(Collectors.joining(", "));
    }

    /**
     * Returns the constructor that the host calls. The rules are the same for plugins and
     * extensions.
     */
    static <T> Constructor<? extends T> publicConstructor(Class<? extends T> c) throws LoadException {
        if (c.isInterface() || Modifier.isAbstract(c.getModifiers())) {
            throw new LoadException("class " + c.getName() + " is abstract; the host makes an instance of it, so it must not be");
        }
        if (c.isMemberClass() && !Modifier.isStatic(c.getModifiers())) {
            throw new LoadException("class " + c.getName() + " is an inner class; the host makes an instance of it, so it must be static");
        }
        try {
            Constructor<? extends T> found = c.getConstructor();
            found.setAccessible(true);
            return found;
        } catch (NoSuchMethodException e) {
            throw new LoadException("class " + c.getName() + " must have a public constructor without arguments");
        }
    }

    /**
     * Calls a constructor. If it throws an exception, throws a LoadException with that cause; a
     * VirtualMachineError is rethrown.
     */
    static <T> T construct(Constructor<? extends T> constructor) throws LoadException {
        String name = constructor.getDeclaringClass().getName();
        try {
            return constructor.newInstance();
        } catch (InvocationTargetException e) {
            if (e.getCause() instanceof VirtualMachineError fatal) {
                throw fatal;
            }
            throw new LoadException("the constructor of class " + name + " failed", e.getCause());
        } catch (ExceptionInInitializerError e) {
            throw new LoadException("class " + name + " could not be initialized", e.getCause() == null ? e : e.getCause());
        } catch (ReflectiveOperationException e) {
            throw new LoadException("no instance of class " + name + " can be made", e);
        }
    }

    private void addMethods(PointInfo point, List<String> warnings) {
        for (int i = 0; i < point.methods().size(); i++) {
            MethodInfo m = point.methods().get(i);
            boolean plain = overrides(point, m.name(), m);
            boolean later = overrides(point, m.name() + "Async", m);
            if (plain && later) {
                warnings.add("class " + type.getName() + " overrides both " + m.name() + " and " + m.name() + "Async of "
                        + point.type().getSimpleName() + "; only " + m.name() + "Async is called");
            }
            if (plain || later) {
                methods.add(point.first() + i);
                async[point.first() + i] = later;
            }
        }
    }

    private boolean overrides(PointInfo point, String name, MethodInfo m) {
        try {
            Method found = type.getMethod(name, m.parameters().toArray(Class<?>[]::new));
            return found.getDeclaringClass() != point.type() && !Forwarders.forwards(found, point.type());
        } catch (NoSuchMethodException e) {
            return false;
        }
    }

    private void checkAnnotated() throws LoadException {
        for (Class<?> c = type; c != null && c != AppExtension.class; c = c.getSuperclass()) {
            for (Method m : c.getDeclaredMethods()) {
                if (m.isAnnotationPresent(ExtensionPointMethod.class) && !m.isBridge() && !isPointMethod(m)) {
                    throw new LoadException("method " + m.getName() + "("
                            + Arrays.stream(m.getParameterTypes()).map(Class::getSimpleName).collect(Collectors.joining(", "))
                            + ") of class " + c.getName() + " is marked with @" + ExtensionPointMethod.class.getSimpleName()
                            + ", but there is no such method in " + names(points));
                }
            }
        }
    }

    private boolean isPointMethod(Method m) {
        List<Class<?>> parameters = List.of(m.getParameterTypes());
        for (PointInfo point : points) {
            for (MethodInfo info : point.methods()) {
                if ((m.getName().equals(info.name()) || m.getName().equals(info.name() + "Async")) && parameters.equals(info.parameters())) {
                    return true;
                }
            }
        }
        return false;
    }

    /**
     * Creates an instance.
     *
     * @return the instance
     * @throws LoadException if the constructor fails; its exception is the cause
     */
    public AppExtension construct() throws LoadException {
        return construct(constructor);
    }

    /**
     * Returns the name of the class.
     *
     * @return the name with its package
     */
    public String name() {
        return type.getName();
    }

    /**
     * Returns the extension points.
     *
     * @return the points that the class or a superclass implements
     */
    public List<PointInfo> points() {
        return points;
    }

    /**
     * Returns the methods of the extension points that the class overrides.
     *
     * @return their numbers
     */
    public List<Integer> methods() {
        return methods;
    }

    /**
     * Returns which variant of a method is called.
     *
     * @param method the number of the method
     * @return true for the asynchronous one
     */
    public boolean async(int method) {
        return async[method];
    }
}
