// SPDX-License-Identifier: Apache-2.0

package im.app.plugin.host.object;

import im.app.plugin.host.RefusedException;
import java.lang.ref.ReferenceQueue;
import java.lang.ref.WeakReference;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicInteger;

/** A plugin of another language, and the objects and functions that it holds here. */
final class Owner {
    /**
     * A class with its static members. An instance of {@link Class} is an ordinary object instead.
     */
    record StaticClass(Class<?> type) {}

    /** Keeps the number of a proxy's function after the proxy is garbage-collected. */
    private static final class ProxyReference extends WeakReference<Object> {
        final int function;

        ProxyReference(Object proxy, int function, ReferenceQueue<Object> queue) {
            super(proxy, queue);
            this.function = function;
        }
    }

    final int number;
    private final AtomicInteger numbers = new AtomicInteger();
    private final Map<Integer, Object> handles = new ConcurrentHashMap<>();
    private final Set<ProxyReference> proxies = ConcurrentHashMap.newKeySet();
    private final ReferenceQueue<Object> collected = new ReferenceQueue<>();
    /**
     * The calls of functions whose responses have not been read yet, in the order of their start.
     */
    private final TreeSet<Long> calls = new TreeSet<>();
    private final ArrayDeque<Release> releases = new ArrayDeque<>();
    private long begun;
    private volatile boolean gone;

    /**
     * A release of a handle, and the newest call of a function at that time. The response of a call
     * that was running then may contain the handle, and be read only after the release.
     */
    private record Release(int handle, long call) {}

    Owner(int number) {
        this.number = number;
    }

    int put(Object o) {
        int n = numbers.incrementAndGet();
        handles.put(n, o);
        return n;
    }

    Object get(int handle) throws RefusedException {
        Object o = handles.get(handle);
        if (o == null) {
            throw new RefusedException("there is no Java object with the handle " + handle + ": it was released");
        }
        return o;
    }

    synchronized void release(int handle) {
        releases.add(new Release(handle, begun));
        forget();
    }

    /** Begins a call of a function. The caller must pass the result to {@link #end}. */
    synchronized long begin() {
        calls.add(++begun);
        return begun;
    }

    /** Ends a call of a function after its response was read. */
    synchronized void end(long call) {
        calls.remove(call);
        forget();
    }

    /**
     * Removes the released handles that no response can contain any more. Called with the lock
     * held.
     */
    private void forget() {
        for (Release r = releases.peek(); r != null && (calls.isEmpty() || calls.first() > r.call); r = releases.peek()) {
            handles.remove(r.handle);
            releases.remove();
        }
    }

    int size() {
        return handles.size();
    }

    int functions() {
        return proxies.size();
    }

    void add(Object proxy, int function) {
        proxies.add(new ProxyReference(proxy, function, collected));
    }

    /** Returns the functions whose proxies were garbage-collected since the previous call. */
    List<Integer> collectedFunctions() {
        List<Integer> out = new ArrayList<>();
        for (Object r = collected.poll(); r != null; r = collected.poll()) {
            ProxyReference p = (ProxyReference) r;
            if (proxies.remove(p)) {
                out.add(p.function);
            }
        }
        return out;
    }

    void releaseAll() {
        gone = true;
        handles.clear();
        proxies.clear();
    }

    boolean gone() {
        return gone;
    }
}
