// SPDX-License-Identifier: Apache-2.0

package im.app.plugin.host.log;

import com.sun.management.HotSpotDiagnosticMXBean;
import java.io.IOException;
import java.lang.management.ManagementFactory;

/**
 * Writes a heap dump of a process that ends because its heap is full, so that the server can
 * determine which plugin retains the memory: the thread that fails to allocate is not always one of
 * that plugin.
 */
final class HeapDump {
    /** The path at which the server expects the dump; null if it expects none. */
    private static final String FILE = System.getProperty("app.plugin.host.heap-dump");

    /** The maximum heap size for a dump: a larger one takes too long to write and to read. */
    private static final long LARGEST = 512L << 20;

    private static volatile HotSpotDiagnosticMXBean bean;

    private HeapDump() {}

    /**
     * Prepares a dump while there is memory: runs its code once without effect, with a path that
     * does not exist.
     */
    static void prepare() {
        if (FILE != null && Runtime.getRuntime().maxMemory() <= LARGEST) {
            bean = ManagementFactory.getPlatformMXBean(HotSpotDiagnosticMXBean.class);
            write(FILE + "/nowhere.hprof");
        }
    }

    /** Writes the live objects. */
    static void write() {
        write(FILE);
    }

    private static void write(String file) {
        HotSpotDiagnosticMXBean b = bean;
        if (b == null) {
            return;
        }
        try {
            b.dumpHeap(file, true);
        } catch (IOException | RuntimeException e) {
            // The dump is optional.
        }
    }
}
