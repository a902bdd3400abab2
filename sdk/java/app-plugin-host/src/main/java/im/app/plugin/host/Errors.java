// SPDX-License-Identifier: Apache-2.0

package im.app.plugin.host;

import im.app.plugin.AppException;
import im.app.plugin.host.load.LoadException;
import im.app.plugin.host.load.PluginLoader;
import im.app.plugin.host.wire.Out;
import im.app.plugin.host.wire.ProtocolException;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.lang.reflect.InvocationTargetException;
import java.util.Collections;
import java.util.IdentityHashMap;
import java.util.Set;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ExecutionException;
import java.util.regex.Pattern;

/** Says what was thrown, for authors of plugins. */
public final class Errors {
    /** More of a text is not of use to anybody, and a frame has its limit. */
    private static final int LONGEST = 64 << 10;

    private static final int MOST_CAUSES = 8;
    private static final Pattern CLASS_NAME = Pattern.compile("[\\p{javaJavaIdentifierPart}./]+");

    private Errors() {}

    /**
     * Writes the body of an ERROR frame.
     *
     * @param e what was thrown
     * @param loader the loader of the plugin, null if it is not known
     * @param role the role of this node
     * @param out gets the body
     */
    static void write(Throwable e, PluginLoader loader, String role, Out out) {
        Throwable thrown = unwrap(e);
        int code = 0;
        String message;
        if (thrown instanceof AppException refusal) {
            code = refusal.code();
            message = refusal.reason() == null ? "" : refusal.reason();
        } else {
            message = message(thrown, loader, role);
        }
        out.zigzag(code);
        out.string(shorten(message));
        out.string(location(thrown, loader));
        out.string(stack(thrown, loader));
    }

    /** Takes off what only says that something was thrown elsewhere. */
    private static Throwable unwrap(Throwable e) {
        Throwable t = e;
        while ((t instanceof InvocationTargetException || t instanceof CompletionException || t instanceof ExecutionException)
                && t.getCause() != null) {
            t = t.getCause();
        }
        return t;
    }

    private static String message(Throwable e, PluginLoader loader, String role) {
        StringBuilder out = new StringBuilder();
        Throwable from = e;
        if (e instanceof LoadException || e instanceof ProtocolException || e instanceof RefusedException) {
            out.append(e.getMessage());
            from = e.getCause();
            if (from != null) {
                out.append(": ");
            }
        }
        Set<Throwable> seen = Collections.newSetFromMap(new IdentityHashMap<>());
        for (Throwable t = from; t != null && seen.size() < MOST_CAUSES && seen.add(t); t = cause(t)) {
            if (t != from) {
                out.append("; caused by ");
            }
            out.append(text(t));
        }
        String hint = hint(e, loader, role);
        if (hint != null) {
            out.append(" (").append(hint).append(')');
        }
        return out.toString();
    }

    private static Throwable cause(Throwable t) {
        try {
            return t.getCause();
        } catch (RuntimeException e) {
            return null;
        }
    }

    /**
     * Tells the class and the text of an exception. Both are code of the plugin, which may throw in turn.
     *
     * @param t the exception
     * @return {@code class: text}
     */
    public static String text(Throwable t) {
        try {
            String text = t.getLocalizedMessage();
            return text == null ? t.getClass().getName() : t.getClass().getName() + ": " + text;
        } catch (RuntimeException e) {
            return t.getClass().getName();
        }
    }

    private static String hint(Throwable e, PluginLoader loader, String role) {
        if (loader == null) {
            return null;
        }
        Set<Throwable> seen = Collections.newSetFromMap(new IdentityHashMap<>());
        for (Throwable t = e; t != null && seen.add(t); t = cause(t)) {
            if (!(t instanceof NoClassDefFoundError || t instanceof ClassNotFoundException)) {
                continue;
            }
            String name = t.getMessage();
            if (name == null || !CLASS_NAME.matcher(name).matches()) {
                continue;
            }
            name = name.replace('/', '.');
            String missing = "class " + name + " is neither in " + loader.fileName() + " nor in what the server offers";
            for (String part : new String[] {"gateway", "service"}) {
                if (name.startsWith("im.app." + part + ".")) {
                    return missing + ": it would be a class of the role " + part + ", this node has the role " + role;
                }
            }
            return name.startsWith("im.app.") ? missing : missing + ": package it into the jar";
        }
        return null;
    }

    private static boolean isOf(StackTraceElement frame, PluginLoader loader) {
        return loader != null && loader.getName().equals(frame.getClassLoaderName());
    }

    /** Finds the first line of the plugin's code, from where it was thrown outwards. */
    private static String location(Throwable e, PluginLoader loader) {
        Set<Throwable> seen = Collections.newSetFromMap(new IdentityHashMap<>());
        for (Throwable t = e; t != null && seen.add(t); t = cause(t)) {
            for (StackTraceElement frame : t.getStackTrace()) {
                if (isOf(frame, loader) && frame.getFileName() != null && frame.getLineNumber() > 0) {
                    return frame.getFileName() + ":" + frame.getLineNumber();
                }
            }
        }
        return "";
    }

    /**
     * Tells the stack trace, in which classes of the plugin are named as their author knows them.
     *
     * @param e the exception
     * @param loader the loader of the plugin, null if there is none
     * @return the text of the stack trace
     */
    public static String stack(Throwable e, PluginLoader loader) {
        StringWriter text = new StringWriter();
        try {
            e.printStackTrace(new PrintWriter(text));
        } catch (RuntimeException again) {
            text.append("… (no more, because of ").append(text(again)).append(")");
        }
        String s = text.toString();
        return shorten(loader == null ? s : s.replace(loader.getName() + "//", "")).stripTrailing();
    }

    /**
     * Cuts a text off that is too long for anybody to read.
     *
     * @param s the text
     * @return its begin, or all of it
     */
    public static String shorten(String s) {
        return s.length() <= LONGEST ? s : s.substring(0, LONGEST) + "… (" + (s.length() - LONGEST) + " more characters)";
    }
}
