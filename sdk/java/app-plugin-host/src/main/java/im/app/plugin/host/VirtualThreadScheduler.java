// SPDX-License-Identifier: Apache-2.0

package im.app.plugin.host;

import java.lang.management.ManagementFactory;
import java.lang.management.PlatformManagedObject;
import java.lang.reflect.Method;

/**
 * The scheduler of this process's virtual threads, which can be inspected and configured since Java
 * 24.
 */
final class VirtualThreadScheduler implements Watchdog.Scheduler {
    private static final int MOST = 256;

    private boolean searched;
    private PlatformManagedObject bean;
    private Class<?> type;

    /** The bean is looked up lazily: most processes never need it, and the look-up is slow. */
    @Override
    public synchronized boolean available() {
        if (!searched) {
            searched = true;
            try {
                type = Class.forName("jdk.management.VirtualThreadSchedulerMXBean");
                bean = ManagementFactory.getPlatformMXBean(type.asSubclass(PlatformManagedObject.class));
            } catch (ClassNotFoundException | IllegalArgumentException e) {
                bean = null;
            }
        }
        return bean != null;
    }

    private Object invoke(String name) {
        try {
            return type.getMethod(name).invoke(bean);
        } catch (ReflectiveOperationException e) {
            throw new IllegalStateException("ask the scheduler of virtual threads for " + name, e);
        }
    }

    @Override
    public int parallelism() {
        return (int) invoke("getParallelism");
    }

    @Override
    public boolean parallelism(int n) {
        try {
            Method set = type.getMethod("setParallelism", int.class);
            set.invoke(bean, Math.min(n, MOST));
            return true;
        } catch (ReflectiveOperationException e) {
            return false;
        }
    }

    @Override
    public long queued() {
        return (long) invoke("getQueuedVirtualThreadCount");
    }

    @Override
    public long mounted() {
        return (int) invoke("getMountedVirtualThreadCount");
    }
}
