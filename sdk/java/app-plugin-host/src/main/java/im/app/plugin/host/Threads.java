// SPDX-License-Identifier: Apache-2.0

package im.app.plugin.host;

import com.sun.management.HotSpotDiagnosticMXBean;
import im.app.plugin.host.load.PluginLoader;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadInfo;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;

/** Inspects the threads of the process. */
final class Threads {
    /** The time limit for the threads of a plugin to end after it was stopped. */
    private static final long STOP_TIMEOUT = TimeUnit.MILLISECONDS.toNanos(500);

    private static final int LONGEST_DUMP = 4 << 20;

    /**
     * A folder that the server removes after this process has ended for any reason; null without a
     * server.
     */
    private static final String FOLDER = System.getProperty("app.plugin.host.folder");

    private final Calls calls;

    Threads(Calls calls) {
        this.calls = calls;
    }

    /**
     * Returns a dump of all threads, platform and virtual, preceded by the requests of the server
     * and deadlocks.
     */
    String dump() {
        StringBuilder out = new StringBuilder();
        long now = System.nanoTime();
        for (Calls.Running r : calls.all()) {
            out.append("request ").append(r.id).append(": ").append(r.what).append(", for ")
                    .append(TimeUnit.NANOSECONDS.toMillis(now - r.since)).append(" ms, ")
                    .append(r.thread.getState()).append('\n');
        }
        long[] deadlocked = ManagementFactory.getThreadMXBean().findDeadlockedThreads();
        if (deadlocked != null) {
            for (ThreadInfo info : ManagementFactory.getThreadMXBean().getThreadInfo(deadlocked, true, true)) {
                if (info != null) {
                    out.append("deadlock: ").append(info);
                }
            }
        }
        try {
            out.append(text());
        } catch (IOException e) {
            // Without a folder for temporary files, only the virtual threads of requests are
            // included.
            Thread.getAllStackTraces().forEach((t, stack) -> append(out, t, stack));
            calls.all().forEach(r -> append(out, r.thread, r.thread.getStackTrace()));
        }
        return out.length() > LONGEST_DUMP ? out.substring(0, LONGEST_DUMP) + "…" : out.toString();
    }

    private static void append(StringBuilder out, Thread t, StackTraceElement[] stack) {
        out.append("\n#").append(t.threadId()).append(" \"").append(t.getName()).append("\" ").append(t.getState()).append('\n');
        for (StackTraceElement frame : stack) {
            out.append("      ").append(frame).append('\n');
        }
    }

    /**
     * Returns the thread dump of the virtual machine, the only one that includes virtual threads
     * started by plugins.
     */
    private static String text() throws IOException {
        HotSpotDiagnosticMXBean bean = ManagementFactory.getPlatformMXBean(HotSpotDiagnosticMXBean.class);
        Path folder = FOLDER == null ? Files.createTempDirectory("threads") : Files.createTempDirectory(Path.of(FOLDER), "threads");
        Path file = folder.resolve("dump.txt");
        try {
            bean.dumpThreads(file.toAbsolutePath().toString(), HotSpotDiagnosticMXBean.ThreadDumpFormat.TEXT_PLAIN);
            return Files.readString(file);
        } finally {
            Files.deleteIfExists(file);
            Files.deleteIfExists(folder);
        }
    }

    /** Returns all platform threads. */
    static Thread[] platform() {
        ThreadGroup group = Thread.currentThread().getThreadGroup();
        while (group.getParent() != null) {
            group = group.getParent();
        }
        Thread[] threads = new Thread[group.activeCount() + 16];
        int n = group.enumerate(threads);
        while (n == threads.length) {
            threads = new Thread[2 * threads.length];
            n = group.enumerate(threads);
        }
        return Arrays.copyOf(threads, n);
    }

    /**
     * Returns the number of a plugin's requests and of platform threads with its context loader.
     */
    int count(PluginLoader loader) {
        int n = 0;
        for (Thread t : platform()) {
            if (t.getContextClassLoader() == loader) {
                n++;
            }
        }
        for (Calls.Running r : calls.all()) {
            if (r.loader == loader) {
                n++;
            }
        }
        return n;
    }

    /**
     * Waits up to {@link #STOP_TIMEOUT} for the threads of a plugin to end. Returns the names of
     * those that still run.
     */
    List<String> leftBehind(PluginLoader loader) {
        long end = System.nanoTime() + STOP_TIMEOUT;
        while (true) {
            Set<String> names = of(loader);
            if (names.isEmpty() || System.nanoTime() - end >= 0) {
                return new ArrayList<>(names);
            }
            LockSupport.parkNanos(TimeUnit.MILLISECONDS.toNanos(10));
        }
    }

    /**
     * Returns the names of the threads with the plugin's context loader, or with a class of the
     * plugin on their stack.
     */
    private Set<String> of(PluginLoader loader) {
        Set<String> names = new LinkedHashSet<>();
        for (Map.Entry<Thread, StackTraceElement[]> e : Thread.getAllStackTraces().entrySet()) {
            if (e.getKey() != Thread.currentThread() && belongs(e.getKey(), e.getValue(), loader)) {
                names.add(e.getKey().getName());
            }
        }
        for (Calls.Running r : calls.all()) {
            if (r.loader == loader) {
                names.add(r.what);
            }
        }
        names.addAll(virtual(loader));
        return names;
    }

    private static boolean belongs(Thread t, StackTraceElement[] stack, PluginLoader loader) {
        if (t.getContextClassLoader() == loader) {
            return true;
        }
        for (StackTraceElement frame : stack) {
            if (loader.getName().equals(frame.getClassLoaderName())) {
                return true;
            }
        }
        return false;
    }

    /**
     * Returns the names of the virtual threads with a class of the plugin on their stack. The dump
     * has a line {@code #12 "name" virtual} before each stack.
     */
    static Set<String> virtual(PluginLoader loader) {
        String text;
        try {
            text = text();
        } catch (IOException e) {
            return Collections.emptySet();
        }
        Set<String> names = new LinkedHashSet<>();
        String prefix = loader.getName() + "//";
        String current = null;
        for (String line : (Iterable<String>) text.lines()::iterator) {
            if (line.startsWith("#")) {
                int from = line.indexOf('"');
                int to = line.lastIndexOf('"');
                boolean isVirtual = to >= 0 && line.indexOf(" virtual", to) >= 0;
                String name = to > from ? line.substring(from + 1, to) : "";
                current = isVirtual ? name.isEmpty() ? "virtual thread " + line.substring(0, Math.max(from, 1)).strip() : name : null;
            } else if (current != null && line.strip().replaceFirst("^at ", "").startsWith(prefix)) {
                names.add(current);
                current = null;
            }
        }
        return names;
    }
}
