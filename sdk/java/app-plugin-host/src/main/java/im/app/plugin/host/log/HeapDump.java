// SPDX-License-Identifier: Apache-2.0

package im.app.plugin.host.log;

import com.sun.management.HotSpotDiagnosticMXBean;
import java.io.IOException;
import java.lang.management.ManagementFactory;

/**
 * Writes down what is in the heap of a process that ends because it is full, so that the server can find out whose it is: the
 * thread that needs memory when there is none left is not always that of the plugin which holds it.
 */
final class HeapDump {
    /** Where the server looks for it; null if it does not. */
    private static final String FILE = System.getProperty("app.plugin.host.heap-dump");

    /** A larger heap takes too long to write and to read. */
    private static final long LARGEST = 512L << 20;

    private static volatile HotSpotDiagnosticMXBean bean;

    private HeapDump() {}

    /** Gets what is needed to write, while there is memory: also all code that is run then has been run once, in vain. */
    static void prepare() {
        if (FILE != null && Runtime.getRuntime().maxMemory() <= LARGEST) {
            bean = ManagementFactory.getPlatformMXBean(HotSpotDiagnosticMXBean.class);
            write(FILE + "/nowhere.hprof");
        }
    }

    /** Writes what is alive. */
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
            // The server has to do without it.
        }
    }
}
