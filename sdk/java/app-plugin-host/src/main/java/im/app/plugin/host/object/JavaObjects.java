// SPDX-License-Identifier: Apache-2.0

package im.app.plugin.host.object;

import im.app.plugin.host.Errors;
import im.app.plugin.host.RefusedException;
import im.app.plugin.host.wire.Frame;
import im.app.plugin.host.wire.In;
import im.app.plugin.host.wire.Out;
import im.app.plugin.host.wire.ProtocolException;
import java.lang.reflect.Array;
import java.lang.reflect.Constructor;
import java.lang.reflect.Executable;
import java.lang.reflect.Field;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.BiFunction;

/** Executes the operations of plugins in other languages on Java classes and objects. */
public final class JavaObjects {
    private static final Map<String, Class<?>> PRIMITIVES = Map.of(
            "boolean", boolean.class, "byte", byte.class, "char", char.class, "short", short.class, "int", int.class,
            "long", long.class, "float", float.class, "double", double.class);

    private static final int RELEASE = 6;
    private static final int RELEASE_ALL = 7;

    private final ClassLoader classes;
    private final BiFunction<Integer, Out, In> ask;
    private final Tell tell;
    private final Map<Integer, Owner> owners = new ConcurrentHashMap<>();
    /**
     * The request that the thread runs, so that the server knows which request waits for a
     * function.
     */
    private final ThreadLocal<Long> during = new ThreadLocal<>();

    /** Sends a frame without response. */
    @FunctionalInterface
    public interface Tell {
        /**
         * Sends the frame.
         *
         * @param kind its kind
         * @param body its body
         */
        void send(int kind, Out body);
    }

    /**
     * Creates the objects of a host.
     *
     * @param classes loads the classes that can be used
     * @param ask sends a request to the server and waits for its response
     * @param tell sends a frame to the server
     */
    public JavaObjects(ClassLoader classes, BiFunction<Integer, Out, In> ask, Tell tell) {
        this.classes = classes;
        this.ask = ask;
        this.tell = tell;
    }

    /** An exception of the called Java code. */
    private static final class Thrown extends Exception {
        private static final long serialVersionUID = 1L;

        Thrown(Throwable cause) {
            super(null, cause, false, false);
        }
    }

    /**
     * Executes an OBJECT request.
     *
     * @param id the number of the request
     * @param in its body
     * @param out receives the body of the result
     * @throws RefusedException if it cannot be executed
     */
    public void handle(long id, In in, Out out) throws RefusedException {
        int number = in.number();
        int operation = in.u8();
        if (operation == RELEASE || operation == RELEASE_ALL) {
            release(owners.get(number), operation, in);
            out.u8(0);
            return;
        }
        Owner owner = owners.computeIfAbsent(number, Owner::new);
        during.set(id);
        try {
            out.u8(0);
            run(owner, operation, in, out);
        } catch (Thrown t) {
            thrown(owner, t.getCause(), out);
        } finally {
            during.remove();
        }
        releaseFunctions(owner);
    }

    /** Releases objects. An owner whose objects were all released is null. */
    private void release(Owner owner, int operation, In in) {
        if (owner == null) {
            return;
        }
        if (operation == RELEASE_ALL) {
            owners.remove(owner.number);
            owner.releaseAll();
        } else {
            for (int n = in.count(); n > 0; n--) {
                owner.release(in.number());
            }
        }
        releaseFunctions(owner);
    }

    private static void thrown(Owner owner, Throwable t, Out out) {
        if (t instanceof OutOfMemoryError e) {
            throw e;
        }
        out.reset();
        out.u8(1);
        Values.write(out, t, owner);
        out.string(Errors.shorten(Errors.text(t)));
        StackTraceElement[] frames = t.getStackTrace();
        out.string(frames.length == 0 || frames[0].getFileName() == null ? "" : frames[0].getFileName() + ":" + frames[0].getLineNumber());
        out.string(Errors.stack(t, null));
    }

    private void run(Owner owner, int operation, In in, Out out) throws RefusedException, Thrown {
        switch (operation) {
            case 0 -> Values.write(out, new Owner.StaticClass(type(in.string())), owner);
            case 1 -> construct(owner, in, out);
            case 2 -> get(owner, owner.get(in.number()), in.string(), out);
            case 3 -> set(owner, in);
            case 4 -> invoke(owner, in, out);
            case 5 -> {
                Object o = owner.get(in.number());
                out.bool(classOf(owner.get(in.number())).isInstance(o));
            }
            case 8 -> members(owner.get(in.number()), out);
            case 9 -> Values.copy(out, owner.get(in.number()), owner);
            default -> throw new ProtocolException("operation " + operation + " on Java objects");
        }
    }

    /**
     * Loads a class by its name. Names of nested classes may contain dots, those of arrays end with
     * brackets.
     */
    private Class<?> type(String name) throws RefusedException {
        if (name.endsWith("[]")) {
            return type(name.substring(0, name.length() - 2)).arrayType();
        }
        Class<?> primitive = PRIMITIVES.get(name);
        if (primitive != null) {
            return primitive;
        }
        String tried = name;
        while (true) {
            try {
                return classes.loadClass(tried);
            } catch (ClassNotFoundException | LinkageError e) {
                int dot = tried.lastIndexOf('.');
                if (dot < 0) {
                    throw new RefusedException("there is no Java class " + name);
                }
                tried = tried.substring(0, dot) + "$" + tried.substring(dot + 1);
            }
        }
    }

    private static Class<?> classOf(Object o) throws RefusedException {
        if (o instanceof Owner.StaticClass c) {
            return c.type();
        }
        throw new RefusedException("an instance of class " + o.getClass().getTypeName() + " is not a Java class");
    }

    private Conversions.Proxies proxies(Owner owner) {
        return (f, t) -> FunctionProxy.make(this, owner, f.number(), t);
    }

    private void construct(Owner owner, In in, Out out) throws RefusedException, Thrown {
        Class<?> type = classOf(owner.get(in.number()));
        List<Object> args = Values.readList(in, owner);
        if (args.size() == 1 && made(type, args.get(0))) {
            Values.write(out, fitting(owner, args.get(0), type, "what is made"), owner);
            return;
        }
        if (type.isArray()) {
            if (args.size() != 1 || Conversions.cost(args.get(0), int.class) == Conversions.NO) {
                throw new RefusedException("an array of " + type.getComponentType().getTypeName() + " is made with its length or a list of its items");
            }
            int length = (int) Conversions.convert(args.get(0), int.class, null);
            if (length < 0) {
                throw new RefusedException("an array cannot have the length " + length);
            }
            Values.write(out, Array.newInstance(type.getComponentType(), length), owner);
            return;
        }
        Members members = Members.of(type);
        if (members.constructors.isEmpty()) {
            throw new RefusedException("class " + type.getTypeName() + " has no public constructor");
        }
        Overloads.Choice choice = Overloads.choose("constructor of class " + type.getTypeName(), members.constructors, null, args, proxies(owner));
        Values.write(out, call(() -> ((Constructor<?>) choice.executable()).newInstance(choice.arguments())), owner);
    }

    /**
     * Returns whether the argument itself is converted to the instance: a list or bytes to an
     * array; a list, a map or a function to an interface.
     */
    private static boolean made(Class<?> type, Object v) {
        if (type.isArray()) {
            return v instanceof Conversions.ListValue || v instanceof byte[];
        }
        return type.isInterface() && (v instanceof Conversions.ListValue || v instanceof Conversions.MapValue || v instanceof Conversions.FunctionValue);
    }

    private interface Reflective {
        Object call() throws ReflectiveOperationException;
    }

    private static Object call(Reflective r) throws RefusedException, Thrown {
        try {
            return r.call();
        } catch (InvocationTargetException e) {
            throw new Thrown(e.getCause());
        } catch (ExceptionInInitializerError e) {
            throw new Thrown(e);
        } catch (ReflectiveOperationException | IllegalArgumentException e) {
            throw new RefusedException(Errors.text(e));
        }
    }

    private void invoke(Owner owner, In in, Out out) throws RefusedException, Thrown {
        Object target = owner.get(in.number());
        String name = in.string();
        List<Object> args = Values.readList(in, owner);
        String signature = null;
        int open = name.indexOf('(');
        if (open > 0 && name.endsWith(")")) {
            signature = name.substring(open + 1, name.length() - 1);
            name = name.substring(0, open);
        }
        boolean isStatic = target instanceof Owner.StaticClass;
        Class<?> type = isStatic ? classOf(target) : target.getClass();
        Members members = Members.of(type);
        List<Executable> methods = (isStatic ? members.staticMethods : members.methods).get(name);
        if (methods == null) {
            throw new RefusedException("class " + type.getTypeName() + " has no public " + (isStatic ? "static " : "") + "method " + name);
        }
        Overloads.Choice choice = Overloads.choose("method " + name + " of class " + type.getTypeName(), methods, signature, args, proxies(owner));
        Values.write(out, call(() -> ((Method) choice.executable()).invoke(isStatic ? null : target, choice.arguments())), owner);
    }

    private static int index(String name, Object array) throws RefusedException {
        int i;
        try {
            i = Integer.parseInt(name);
        } catch (NumberFormatException e) {
            throw new RefusedException("an array has no field " + name);
        }
        if (i < 0 || i >= Array.getLength(array)) {
            throw new RefusedException("an array of length " + Array.getLength(array) + " has no item " + i);
        }
        return i;
    }

    private void get(Owner owner, Object target, String name, Out out) throws RefusedException, Thrown {
        if (target instanceof Owner.StaticClass c) {
            Members members = Members.of(c.type());
            Field field = members.staticFields.get(name);
            if (field != null) {
                Values.write(out, call(() -> field.get(null)), owner);
            } else if (members.nested.containsKey(name)) {
                Values.write(out, new Owner.StaticClass(members.nested.get(name)), owner);
            } else if (name.equals("class")) {
                Values.write(out, c.type(), owner);
            } else {
                throw new RefusedException("class " + c.type().getTypeName() + " has no public static field or nested class " + name);
            }
        } else if (target.getClass().isArray()) {
            Values.write(out, name.equals("length") ? Array.getLength(target) : Array.get(target, index(name, target)), owner);
        } else {
            Field field = field(target, name);
            Values.write(out, call(() -> field.get(target)), owner);
        }
    }

    private static Field field(Object target, String name) throws RefusedException {
        Field field = Members.of(target.getClass()).fields.get(name);
        if (field == null) {
            throw new RefusedException("class " + target.getClass().getTypeName() + " has no public field " + name);
        }
        return field;
    }

    private void set(Owner owner, In in) throws RefusedException, Thrown {
        Object target = owner.get(in.number());
        String name = in.string();
        Object value = Values.read(in, owner);
        if (!(target instanceof Owner.StaticClass) && target.getClass().isArray()) {
            int i = index(name, target);
            Array.set(target, i, fitting(owner, value, target.getClass().getComponentType(), "item " + i + " of an array"));
            return;
        }
        Field field;
        if (target instanceof Owner.StaticClass c) {
            field = Members.of(c.type()).staticFields.get(name);
            if (field == null) {
                throw new RefusedException("class " + c.type().getTypeName() + " has no public static field " + name);
            }
        } else {
            field = field(target, name);
        }
        if (Modifier.isFinal(field.getModifiers())) {
            throw new RefusedException("field " + name + " of class " + field.getDeclaringClass().getTypeName() + " is final");
        }
        Object fitting = fitting(owner, value, field.getType(), "field " + name + " of class " + field.getDeclaringClass().getTypeName());
        call(() -> {
            field.set(target instanceof Owner.StaticClass ? null : target, fitting);
            return null;
        });
    }

    private Object fitting(Owner owner, Object value, Class<?> type, String what) throws RefusedException {
        Object plain = value instanceof Owner.StaticClass c ? c.type() : value;
        if (Conversions.cost(plain, type) == Conversions.NO) {
            throw new RefusedException(what + " is of the type " + type.getTypeName() + ", which the value does not fit");
        }
        return Conversions.convert(plain, type, proxies(owner));
    }

    private static void members(Object target, Out out) {
        boolean isStatic = target instanceof Owner.StaticClass;
        Members members = Members.of(isStatic ? ((Owner.StaticClass) target).type() : target.getClass());
        out.string(members.type.getTypeName());
        strings(isStatic ? members.staticMethods.keySet() : members.methods.keySet(), out);
        Set<String> fields = new java.util.TreeSet<>(isStatic ? members.staticFields.keySet() : members.fields.keySet());
        if (isStatic) {
            fields.addAll(members.nested.keySet());
        }
        strings(fields, out);
    }

    private static void strings(Set<String> all, Out out) {
        out.count(all.size());
        for (String s : all) {
            out.string(s);
        }
    }

    /** Returns the number of objects that the owners hold. */
    public int handles() {
        return owners.values().stream().mapToInt(Owner::size).sum();
    }

    /**
     * Returns the number of functions of the owners whose proxies are not known to be
     * garbage-collected.
     */
    public int functions() {
        owners.values().forEach(this::releaseFunctions);
        return owners.values().stream().mapToInt(Owner::functions).sum();
    }

    /** Calls a function of the server. */
    In callFunction(Owner owner, int function, String method, List<Object> args) {
        Long id = during.get();
        Out out = new Out();
        out.number(owner.number);
        out.u8(0);
        out.u64(id == null ? 0 : id);
        FunctionProxy.write(out, function, method, args, owner);
        return ask.apply(Frame.FUNCTION, out);
    }

    private void releaseFunctions(Owner owner) {
        List<Integer> functions = owner.collectedFunctions();
        if (functions.isEmpty() || owner.gone()) {
            return;
        }
        Out out = new Out();
        out.number(owner.number);
        out.u8(1);
        out.count(functions.size());
        for (int f : functions) {
            out.number(f);
        }
        tell.send(Frame.FUNCTION, out);
    }
}
