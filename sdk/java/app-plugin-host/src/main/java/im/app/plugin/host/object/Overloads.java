// SPDX-License-Identifier: Apache-2.0

package im.app.plugin.host.object;

import im.app.plugin.host.RefusedException;
import java.lang.reflect.Array;
import java.lang.reflect.Executable;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.stream.Collectors;

/** Resolves overloaded methods. */
final class Overloads {
    /** A method with its converted arguments. */
    record Choice(Executable executable, Object[] arguments) {}

    private Overloads() {}

    /**
     * Chooses the best match.
     *
     * @param what the name for messages
     * @param all the methods with the name
     * @param signature the types of the parameters separated by commas; null to compare all
     * @param args the arguments
     * @param proxies implements interfaces by functions
     */
    static Choice choose(String what, List<Executable> all, String signature, List<Object> args, Conversions.Proxies proxies) throws RefusedException {
        List<Executable> candidates = all;
        if (signature != null) {
            String wanted = signature.replace(" ", "");
            candidates = all.stream().filter(e -> wanted.equals(types(e, ","))).toList();
        }
        Executable best = null;
        int bestCost = Integer.MAX_VALUE;
        boolean bestVariable = false;
        for (boolean variable : new boolean[] {false, true}) {
            for (Executable e : candidates) {
                int cost = variable ? variableCost(e, args) : fixedCost(e, args);
                if (cost != Conversions.NO && (cost < bestCost || cost == bestCost && moreSpecific(e, best))) {
                    best = e;
                    bestCost = cost;
                    bestVariable = variable;
                }
            }
            if (best != null) {
                return new Choice(best, bestVariable ? variableArguments(best, args, proxies) : fixedArguments(best, args, proxies));
            }
        }
        throw new RefusedException("no " + what + " takes " + describe(args) + "; there is "
                + all.stream().map(e -> "(" + types(e, ", ") + ")").collect(Collectors.joining(", ")));
    }

    private static String types(Executable e, String separator) {
        return Arrays.stream(e.getParameterTypes()).map(Class::getTypeName).collect(Collectors.joining(separator));
    }

    private static String describe(List<Object> args) {
        List<String> out = new ArrayList<>();
        for (Object a : args) {
            out.add(switch (a) {
                case null -> "null";
                case Conversions.ListValue l -> "a list";
                case Conversions.MapValue m -> "an object";
                case Conversions.FunctionValue f -> "a function";
                case Owner.StaticClass c -> "class " + c.type().getTypeName();
                default -> a.getClass().getTypeName();
            });
        }
        return "(" + String.join(", ", out) + ")";
    }

    private static int fixedCost(Executable e, List<Object> args) {
        Class<?>[] types = e.getParameterTypes();
        if (types.length != args.size()) {
            return Conversions.NO;
        }
        int sum = 0;
        for (int i = 0; i < types.length; i++) {
            int c = cost(args.get(i), types[i]);
            if (c == Conversions.NO) {
                return c;
            }
            sum += c;
        }
        return sum;
    }

    private static int cost(Object arg, Class<?> type) {
        return Conversions.cost(arg instanceof Owner.StaticClass c ? c.type() : arg, type);
    }

    private static int variableCost(Executable e, List<Object> args) {
        Class<?>[] types = e.getParameterTypes();
        if (!e.isVarArgs() || args.size() < types.length - 1) {
            return Conversions.NO;
        }
        Class<?> item = types[types.length - 1].getComponentType();
        int sum = 0;
        for (int i = 0; i < args.size(); i++) {
            int c = cost(args.get(i), i < types.length - 1 ? types[i] : item);
            if (c == Conversions.NO) {
                return c;
            }
            sum += c;
        }
        return sum;
    }

    private static boolean moreSpecific(Executable e, Executable than) {
        Class<?>[] a = e.getParameterTypes();
        Class<?>[] b = than.getParameterTypes();
        if (a.length != b.length) {
            return false;
        }
        for (int i = 0; i < a.length; i++) {
            if (!b[i].isAssignableFrom(a[i])) {
                return false;
            }
        }
        return true;
    }

    private static Object[] fixedArguments(Executable e, List<Object> args, Conversions.Proxies proxies) {
        Class<?>[] types = e.getParameterTypes();
        Object[] out = new Object[types.length];
        for (int i = 0; i < types.length; i++) {
            out[i] = Conversions.convert(args.get(i), types[i], proxies);
        }
        return out;
    }

    private static Object[] variableArguments(Executable e, List<Object> args, Conversions.Proxies proxies) {
        Class<?>[] types = e.getParameterTypes();
        int fixed = types.length - 1;
        Object[] out = new Object[types.length];
        for (int i = 0; i < fixed; i++) {
            out[i] = Conversions.convert(args.get(i), types[i], proxies);
        }
        Class<?> item = types[fixed].getComponentType();
        Object rest = Array.newInstance(item, args.size() - fixed);
        for (int i = fixed; i < args.size(); i++) {
            Array.set(rest, i - fixed, Conversions.convert(args.get(i), item, proxies));
        }
        out[fixed] = rest;
        return out;
    }
}
