// SPDX-License-Identifier: Apache-2.0

package im.app.plugin.host;

import im.app.plugin.AppExtension;
import im.app.plugin.ExtensionState;
import im.app.plugin.host.generated.Dispatch;
import im.app.plugin.host.generated.MethodInfo;
import im.app.plugin.host.generated.PointInfo;
import im.app.plugin.host.load.ExtensionClass;
import im.app.plugin.host.load.LoadException;
import im.app.plugin.host.wire.In;
import im.app.plugin.host.wire.Out;

/** An instance of a plugin's extension class. */
final class Extension {
    /** The hook number for running the task of a schedule. */
    static final int SCHEDULE = 5;

    /** The hook number for serving a request with an endpoint. */
    static final int ENDPOINT = 6;

    final int number;
    final Module module;
    final ExtensionClass type;
    volatile ExtensionState state = ExtensionState.LOADED;
    /** The tasks of its schedules. */
    final Tasks tasks = new Tasks();

    private AppExtension instance;
    private Context context;
    private Endpoints endpoints;
    /**
     * The names of threads that call its methods, by method number; null if the class does not have
     * the method.
     */
    private final String[] names;

    Extension(int number, Module module, ExtensionClass type) {
        this.number = number;
        this.module = module;
        this.type = type;
        names = names(type);
    }

    private static String[] names(ExtensionClass type) {
        PointInfo last = Dispatch.POINTS.get(Dispatch.POINTS.size() - 1);
        String[] out = new String[last.first() + last.methods().size()];
        for (PointInfo point : type.points()) {
            for (int i = 0; i < point.methods().size(); i++) {
                int method = point.first() + i;
                if (type.methods().contains(method)) {
                    MethodInfo m = point.methods().get(i);
                    out[method] = type.name() + "." + m.name() + (type.async(method) ? "Async" : "");
                }
            }
        }
        return out;
    }

    /** Sets the instance. Called before the extension is published to other threads. */
    void instance(AppExtension made, Context of) throws LoadException {
        instance = made;
        context = of;
        endpoints = new Endpoints(made);
        if (endpoints.isEmpty() && type.points().isEmpty()) {
            throw new LoadException("class " + type.name() + " implements no extension point, and its getEndpoints() returned no endpoint");
        }
    }

    Endpoints endpoints() {
        return endpoints;
    }

    /** Returns the thread name for a method; null if the class does not have the method. */
    String name(int method) {
        return method < names.length ? names[method] : null;
    }

    void call(int method, In in, Out out) throws Exception {
        Dispatch.call(method, instance, type.async(method), in, out);
    }

    /** Runs the task of a schedule. */
    void run(In in) throws Exception {
        tasks.run(in.string(), in.instant());
    }

    /** Serves a request with an endpoint. The call identifies its blocks of content. */
    void serve(long call, String handler, In in, Out out) throws Exception {
        endpoints.serve(handler, in, out, block -> context.write(call, block));
    }

    /**
     * Runs a hook: 0 start, 1 pause, 2 resume, 3 stop, 4 onSettingsChanged. As in the server, pause
     * and stop change the state even if they throw.
     */
    void hook(int hook) throws Exception {
        switch (hook) {
            case 0 -> {
                tasks.clear(); // A failed start may have added tasks.
                state = ExtensionState.STARTED;
                run(instance::start, ExtensionState.LOADED);
            }
            case 1 -> {
                try {
                    instance.pause();
                } finally {
                    state = ExtensionState.PAUSED;
                }
            }
            case 2 -> {
                state = ExtensionState.STARTED;
                run(instance::resume, ExtensionState.PAUSED);
            }
            case 3 -> {
                try {
                    instance.stop();
                } finally {
                    state = ExtensionState.STOPPED;
                }
            }
            case 4 -> instance.onSettingsChanged(instance.settings());
            default -> throw new RefusedException("there is no hook " + hook);
        }
    }

    private interface Hook {
        void run() throws Exception;
    }

    private void run(Hook hook, ExtensionState otherwise) throws Exception {
        boolean done = false;
        try {
            hook.run();
            done = true;
        } finally {
            if (!done) {
                state = otherwise;
            }
        }
    }

    static String hookName(int hook) {
        return switch (hook) {
            case 0 -> "start";
            case 1 -> "pause";
            case 2 -> "resume";
            case 3 -> "stop";
            case 4 -> "onSettingsChanged";
            case SCHEDULE -> "schedule";
            default -> "hook " + hook;
        };
    }
}
