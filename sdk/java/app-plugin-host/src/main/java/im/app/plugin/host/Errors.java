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
import java.util.ArrayList;
import java.util.Collections;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ExecutionException;
import java.util.regex.Pattern;

/** Describes exceptions for authors of plugins. */
public final class Errors {
    /** The maximum length of a text, which keeps it readable and below the limit of a frame. */
    private static final int LONGEST = 64 << 10;

    /** The maximum number of exceptions in a chain of causes. */
    private static final int MOST_CAUSES = 16;

    private static final Pattern CLASS_NAME = Pattern.compile("[\\p{javaJavaIdentifierPart}./]+");

    private Errors() {}

    /**
     * Writes the body of an ERROR frame.
     *
     * @param e the exception
     * @param loader the loader of the plugin, null if unknown
     * @param role the role of this node
     * @param out receives the body
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

    /** Unwraps exceptions such as InvocationTargetException. */
    private static Throwable unwrap(Throwable e) {
        Throwable last = e;
        for (Throwable t : chain(e)) {
            last = t;
            if (!(t instanceof InvocationTargetException || t instanceof CompletionException || t instanceof ExecutionException)) {
                break;
            }
        }
        return last;
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
        for (Throwable t : chain(from)) {
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

    /**
     * Returns an exception and its causes. getCause may be code of the plugin, which can throw and
     * return a different cause each time.
     *
     * @param e the exception; the result is empty if it is null
     * @return the exception and its causes; ends with the OutOfMemoryError if getCause throws one
     */
    static List<Throwable> chain(Throwable e) {
        Set<Throwable> seen = Collections.newSetFromMap(new IdentityHashMap<>());
        List<Throwable> chain = new ArrayList<>();
        Throwable t = e;
        while (t != null && chain.size() < MOST_CAUSES && seen.add(t)) {
            chain.add(t);
            try {
                t = t.getCause();
            } catch (OutOfMemoryError none) {
                t = none;
            } catch (Throwable none) {
                t = null;
            }
        }
        return chain;
    }

    /**
     * Returns the class and the message of an exception, or only the class if code of the plugin
     * throws while returning the message.
     *
     * @param t the exception
     * @return {@code class: text}
     */
    public static String text(Throwable t) {
        try {
            String text = t.getLocalizedMessage();
            return text == null ? t.getClass().getName() : t.getClass().getName() + ": " + text;
        } catch (OutOfMemoryError e) {
            throw e;
        } catch (Throwable e) {
            return t.getClass().getName();
        }
    }

    private static String hint(Throwable e, PluginLoader loader, String role) {
        if (loader == null) {
            return null;
        }
        for (Throwable t : chain(e)) {
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

    /** Returns file and line of the innermost frame in the plugin's code, or an empty text. */
    private static String location(Throwable e, PluginLoader loader) {
        for (Throwable t : chain(e)) {
            for (StackTraceElement frame : t.getStackTrace()) {
                if (isOf(frame, loader) && frame.getFileName() != null && frame.getLineNumber() > 0) {
                    return frame.getFileName() + ":" + frame.getLineNumber();
                }
            }
        }
        return "";
    }

    /**
     * Returns the stack trace, with the original names of the plugin's classes.
     *
     * @param e the exception
     * @param loader the loader of the plugin, null if there is none
     * @return the text of the stack trace
     */
    public static String stack(Throwable e, PluginLoader loader) {
        StringWriter text = new StringWriter();
        try {
            e.printStackTrace(new PrintWriter(text));
        } catch (OutOfMemoryError again) {
            throw again;
        } catch (Throwable again) {
            text.append("… (no more, because of ").append(text(again)).append(")");
        }
        String s = text.toString();
        return shorten(loader == null ? s : s.replace(loader.getName() + "//", "")).stripTrailing();
    }

    /**
     * Truncates a text to a readable length.
     *
     * @param s the text
     * @return its beginning, or all of it
     */
    public static String shorten(String s) {
        return s.length() <= LONGEST ? s : s.substring(0, LONGEST) + "… (" + (s.length() - LONGEST) + " more characters)";
    }
}
