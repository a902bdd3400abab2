// SPDX-License-Identifier: Apache-2.0

package im.app.plugin.host.log;

import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.util.logging.LogManager;

/**
 * Lets {@code java.util.logging} write to the log of the server. The logging of Java makes an instance when it is used
 * for the first time, so that plugins which do not use it do not pay for it.
 */
public final class LoggingSetup {
    /** Is called by the logging of Java, by name. */
    public LoggingSetup() {
        // The host learns by the level of java.lang.Runtime with which status a plugin ends the process.
        String properties = "handlers=" + LoggingHandler.class.getName() + "\n.level=INFO\njava.lang.Runtime.level=FINE\n";
        try {
            LogManager.getLogManager().readConfiguration(new ByteArrayInputStream(properties.getBytes(StandardCharsets.ISO_8859_1)));
        } catch (IOException e) {
            throw new UncheckedIOException("configure java.util.logging", e);
        }
    }
}
