// SPDX-License-Identifier: Apache-2.0

package im.app.plugin.host.log;

import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.util.logging.LogManager;

/**
 * Configures {@code java.util.logging} to write to the log of the server. The library creates an
 * instance on first use, so it costs nothing if no plugin uses it.
 */
public final class LoggingSetup {
    /** Called by java.util.logging through reflection. */
    public LoggingSetup() {
        // The level of java.lang.Runtime makes the virtual machine log the status with which a
        // plugin ends the process.
        String properties = "handlers=" + LoggingHandler.class.getName() + "\n.level=INFO\njava.lang.Runtime.level=FINE\n";
        try {
            LogManager.getLogManager().readConfiguration(new ByteArrayInputStream(properties.getBytes(StandardCharsets.ISO_8859_1)));
        } catch (IOException e) {
            throw new UncheckedIOException("configure java.util.logging", e);
        }
    }
}
