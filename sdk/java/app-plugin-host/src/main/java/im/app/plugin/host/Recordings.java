// SPDX-License-Identifier: Apache-2.0

package im.app.plugin.host;

import im.app.plugin.host.wire.In;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.nio.file.Path;
import java.text.ParseException;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import javax.management.JMException;
import javax.management.ObjectName;
import jdk.jfr.Configuration;
import jdk.jfr.Recording;

/** Records events of the JVM while the server has a flight recording. */
final class Recordings {
    private static final int STOP = 0;
    private static final int START = 1;
    private static final int TAKE = 2;

    /**
     * Events that may contain secrets: the environment, properties, arguments, other processes, and
     * messages of exceptions. No setting enables them.
     */
    private static final List<String> SECRET = List.of(
            "jdk.InitialEnvironmentVariable",
            "jdk.InitialSystemProperty",
            "jdk.InitialSecurityProperty",
            "jdk.SecurityPropertyModification",
            "jdk.JVMInformation",
            "jdk.StringFlag",
            "jdk.StringFlagChanged",
            "jdk.SystemProcess",
            "jdk.ProcessStart",
            "jdk.JavaExceptionThrow",
            "jdk.JavaErrorThrow");

    /** The JVM's repository of recorded data, relative to its working folder. */
    private static final String REPOSITORY = "recordings";

    private Map<String, String> settings;
    private Recording current;

    /** Executes RECORD. */
    synchronized void handle(In in) throws IOException, ParseException {
        int action = in.u8();
        switch (action) {
            case START -> start(in);
            case TAKE -> take(Path.of(in.string()));
            case STOP -> stop();
            default -> throw new IllegalArgumentException("the server wants " + action + " of recordings, which this host does not know");
        }
    }

    private void start(In in) throws IOException, ParseException {
        Map<String, String> wanted = new HashMap<>(Configuration.getConfiguration(in.string()).getSettings());
        for (int n = in.count(); n > 0; n--) {
            String name = in.string();
            wanted.put(name, in.string());
        }
        for (String name : SECRET) {
            wanted.put(name + "#enabled", "false");
        }
        settings = wanted;
        if (current == null) {
            chooseRepository();
            current = begin();
        } else {
            current.setSettings(wanted);
        }
    }

    /**
     * Sets the repository before the first recording. The JVM flag for that would load the
     * recording module in each JVM and disable archived modules, which slows the start down.
     */
    private static void chooseRepository() {
        try {
            ManagementFactory.getPlatformMBeanServer()
                    .invoke(
                            new ObjectName("com.sun.management:type=DiagnosticCommand"),
                            "jfrConfigure",
                            new Object[] {new String[] {"repositorypath=" + REPOSITORY}},
                            new String[] {String[].class.getName()});
        } catch (JMException e) {
            throw new IllegalStateException("set the folder of recordings", e);
        }
    }

    private Recording begin() {
        Recording r = new Recording(settings);
        r.setName("server");
        r.start();
        return r;
    }

    /** Writes the events since the previous call to a file, and continues recording. */
    private void take(Path path) throws IOException {
        if (current == null) {
            throw new IllegalStateException("the Java host does not record");
        }
        Recording done = current;
        // The next recording begins before this one ends, so that no event between them is lost.
        current = begin();
        try (done) {
            done.stop();
            done.dump(path);
        }
    }

    private void stop() {
        if (current != null) {
            current.close();
            current = null;
        }
    }
}
