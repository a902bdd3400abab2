// SPDX-License-Identifier: Apache-2.0

package im.app.plugin.host.object;

import im.app.plugin.host.RefusedException;
import im.app.plugin.host.wire.In;
import im.app.plugin.host.wire.Out;
import java.lang.reflect.InvocationHandler;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.util.Arrays;
import java.util.List;

/** Implements a Java interface by a function of another language. */
final class FunctionProxy implements InvocationHandler {
    /** The outcome if the object has no function with the name of the method. */
    private static final int ABSENT = 2;

    private final JavaObjects objects;
    private final Owner owner;
    private final int function;
    /**
     * Whether the interface has exactly one abstract method; its default methods are not passed to
     * the function then.
     */
    private final boolean functional;

    private FunctionProxy(JavaObjects objects, Owner owner, int function, boolean functional) {
        this.objects = objects;
        this.owner = owner;
        this.function = function;
        this.functional = functional;
    }

    static Object make(JavaObjects objects, Owner owner, int function, Class<?> type) {
        ClassLoader loader = type.getClassLoader();
        Object proxy = Proxy.newProxyInstance(
                loader == null ? ClassLoader.getPlatformClassLoader() : loader,
                new Class<?>[] {type},
                new FunctionProxy(objects, owner, function, Conversions.functional(type)));
        owner.add(proxy, function);
        return proxy;
    }

    /** Returns the function of a proxy that belongs to the owner; null for other objects. */
    static Integer function(Object o, Owner owner) {
        return Proxy.isProxyClass(o.getClass()) && Proxy.getInvocationHandler(o) instanceof FunctionProxy p && p.owner == owner ? p.function : null;
    }

    @Override
    public Object invoke(Object proxy, Method method, Object[] args) throws Throwable {
        if (method.getDeclaringClass() == Object.class) {
            return switch (method.getName()) {
                case "equals" -> proxy == args[0];
                case "hashCode" -> System.identityHashCode(proxy);
                default -> "function " + function;
            };
        }
        if (method.isDefault() && functional) {
            return InvocationHandler.invokeDefault(proxy, method, args);
        }
        if (owner.gone()) {
            throw new IllegalStateException("the plugin with the function is gone");
        }
        long call = owner.begin();
        try {
            In in = objects.callFunction(owner, function, method.getName(), args == null ? List.of() : Arrays.asList(args));
            int outcome = in.u8();
            if (outcome == 0) {
                return result(method, in);
            }
            if (outcome == ABSENT) {
                if (method.isDefault()) {
                    return InvocationHandler.invokeDefault(proxy, method, args);
                }
                throw new UnsupportedOperationException("the plugin's object for " + method.getDeclaringClass().getTypeName() + " has no function " + method.getName());
            }
            Object thrown = Values.read(in, owner);
            String message = in.string();
            String stack = in.string();
            if (thrown instanceof Throwable t) {
                throw declared(method, t) ? t : new FunctionException(message, stack, t);
            }
            if (thrown instanceof Conversions.FunctionValue f) {
                throw new FunctionException(message, stack, owner, f.number());
            }
            throw new FunctionException(message, stack, null);
        } finally {
            owner.end(call);
        }
    }

    private static boolean declared(Method method, Throwable t) {
        return t instanceof RuntimeException || t instanceof Error || Arrays.stream(method.getExceptionTypes()).anyMatch(c -> c.isInstance(t));
    }

    private Object result(Method method, In in) throws RefusedException {
        Object v = Values.read(in, owner);
        Class<?> type = method.getReturnType();
        if (type == void.class) {
            return null;
        }
        Object plain = v instanceof Owner.StaticClass c ? c.type() : v;
        if (Conversions.cost(plain, type) == Conversions.NO) {
            throw new ClassCastException("the function answered " + (plain == null ? "nothing" : plain.getClass().getSimpleName()) + " for " + method.getName()
                    + " of " + method.getDeclaringClass().getName() + ", which answers " + type.getTypeName());
        }
        return Conversions.convert(plain, type, (f, t) -> make(objects, owner, f.number(), t));
    }

    /** Writes the arguments of a call. */
    static void write(Out out, int function, String method, List<Object> args, Owner owner) {
        out.number(function);
        out.string(method);
        Values.writeList(out, args, owner);
    }
}
