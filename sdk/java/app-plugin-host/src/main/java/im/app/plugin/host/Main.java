// SPDX-License-Identifier: Apache-2.0

package im.app.plugin.host;

import im.app.plugin.host.log.ExitNotice;
import im.app.plugin.host.log.NoMemory;
import im.app.plugin.host.log.Redirect;
import java.io.File;
import java.io.FileInputStream;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.PrintStream;

/** Starts the host on the pipes that it inherits from the server as file descriptors 3 and 4. */
public final class Main {
    /** The exit status if the server has closed the pipe or sent an invalid frame. */
    private static final int BROKEN = 4;

    private Main() {}

    /**
     * Runs the host until the server ends it or closes the pipes.
     *
     * @param args empty, or the input and the output file to use instead of the pipes
     */
    public static void main(String[] args) {
        PrintStream err = System.err;
        int status = 0;
        try {
            // Streams instead of channels, because a channel is closed when a thread is interrupted
            // while it uses it.
            FileInputStream in = new FileInputStream(args.length == 2 ? args[0] : descriptor(3));
            FileOutputStream out = new FileOutputStream(args.length == 2 ? args[1] : descriptor(4));
            Host host = new Host(in, out, Main::end);
            Redirect.install(host::log, host::sendCulprit, host::sendUncaught);
            Runtime.getRuntime().addShutdownHook(new Thread(() -> notice(host), "exit notice"));
            host.run();
        } catch (IOException | RuntimeException e) {
            err.println("the Java host ends: " + e);
            status = BROKEN;
        } catch (OutOfMemoryError e) {
            NoMemory.end(e);
        }
        // Without the server, the process must end even if plugins still run, and so must its child
        // processes.
        endChildren();
        Runtime.getRuntime().halt(status);
    }

    private static void endChildren() {
        try {
            ProcessHandle.current().descendants().forEach(ProcessHandle::destroyForcibly);
        } catch (RuntimeException | Error e) {
            // Nothing can be reported any more.
        }
    }

    private static String descriptor(int n) {
        String linux = "/proc/self/fd/" + n;
        return new File(linux).exists() ? linux : "/dev/fd/" + n;
    }

    /**
     * Ends the process. With the system property {@code app.plugin.host.exit} it exits normally, so
     * that the virtual machine can write the data that it has collected; otherwise immediately.
     */
    private static void end(int status) {
        if (status == 0 && Boolean.getBoolean("app.plugin.host.exit")) {
            System.exit(0);
        }
        Runtime.getRuntime().halt(status);
    }

    /**
     * Notifies the server that a plugin ends the process. With the system property
     * {@code app.plugin.host.orderly} the process continues until the server ends it, so that other
     * plugins can be stopped.
     */
    private static void notice(Host host) {
        if (host.stopping()) {
            return;
        }
        host.sendExit(ExitNotice.status(), ExitNotice.module());
        if (Boolean.getBoolean("app.plugin.host.orderly")) {
            host.awaitEnd();
        }
    }
}
