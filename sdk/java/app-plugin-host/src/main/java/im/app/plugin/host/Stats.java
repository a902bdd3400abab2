// SPDX-License-Identifier: Apache-2.0

package im.app.plugin.host;

import im.app.plugin.host.object.JavaObjects;
import im.app.plugin.host.wire.Out;
import java.lang.management.ManagementFactory;
import java.lang.management.MemoryPoolMXBean;
import java.lang.management.MemoryType;
import java.lang.management.MemoryUsage;

/** Reports memory usage. */
final class Stats {
    /** The second collection frees objects that the first one only discovered. */
    private static final int COLLECTIONS = 2;

    private Stats() {}

    /** Executes STATS. */
    static void write(boolean collect, Modules modules, Calls calls, Usage usage, JavaObjects objects, Out out) {
        for (int i = 0; collect && i < COLLECTIONS; i++) {
            System.gc();
        }
        MemoryUsage heap = ManagementFactory.getMemoryMXBean().getHeapMemoryUsage();
        out.zigzag(collect ? live(heap) : heap.getUsed());
        out.zigzag(heap.getCommitted());
        out.zigzag(metaspace());
        out.zigzag(ManagementFactory.getClassLoadingMXBean().getLoadedClassCount());
        out.zigzag(modules.liveLoaders());
        // Excluding this request.
        out.zigzag(calls.size() - 1);
        out.zigzag(objects.handles());
        out.zigzag(objects.functions());
        usage.sample();
        modules.writeUsage(out);
        modules.writeLeft(out);
        modules.writeLoading(out);
    }

    /** Returns the memory in use after the collections, without later allocations. */
    private static long live(MemoryUsage heap) {
        long sum = 0;
        for (MemoryPoolMXBean pool : ManagementFactory.getMemoryPoolMXBeans()) {
            if (pool.getType() == MemoryType.HEAP) {
                MemoryUsage left = pool.getCollectionUsage();
                if (left == null) {
                    return heap.getUsed();
                }
                sum += left.getUsed();
            }
        }
        return sum;
    }

    private static long metaspace() {
        for (MemoryPoolMXBean pool : ManagementFactory.getMemoryPoolMXBeans()) {
            if ("Metaspace".equals(pool.getName())) {
                return pool.getUsage().getUsed();
            }
        }
        return 0;
    }
}
