// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"example.org/app/internal/plugin/java/javatest"
)

// leaver is a plugin that calls System.exit when an administrator does something, and writes a file
// when it is stopped.
const leaver = `
package leaver;
import im.app.plugin.*;
import im.app.plugin.model.*;
import im.app.server.common.infra.plugin.extension.AdminActionHandler;
import java.nio.file.*;
import java.util.*;

public class Leaver extends AppPlugin {
    @Override
    public Collection<Class<? extends AppExtension>> getExtensions() {
        return List.of(Watcher.class);
    }

    public static class Watcher extends AppExtension implements AdminActionHandler {
        @PropertiesPrefix("leaver")
        public record Settings(String file) {}

        @Override
        public void handleAdminAction(AdminAction action) {
            System.exit(7);
        }

        @Override
        public void stop() throws Exception {
            Files.writeString(Path.of(loadProperties(Settings.class).file()), "stopped");
        }
    }
}`

// TestExitOfAPlugin proves that System.exit of a plugin shuts the server down in order, with its
// exit code.
func TestExitOfAPlugin(t *testing.T) {
	jar := javatest.Jar(t, javatest.Plugin{ID: "leaver", Version: "1", Class: "leaver.Leaver", Sources: map[string]string{"leaver/Leaver.java": leaver}})
	home := t.TempDir()
	file := filepath.Join(home, "stopped")
	if err := os.MkdirAll(filepath.Join(home, "plugins"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(home, "plugins", "leaver.jar"), jar, 0o600); err != nil {
		t.Fatal(err)
	}
	s := run(t, home, "--set", "leaver.file="+file)
	s.get("/admins", "app")
	if code := s.wait(); code != 7 {
		t.Errorf("exit code %d\n%s", code, s.stderr.String())
	}
	if _, err := os.Stat(file); err != nil {
		t.Errorf("the plugin was not stopped: %v", err)
	}
}

// TestJVMOptions proves that the JVM gets the configured options, and that the error names an
// invalid one.
func TestJVMOptions(t *testing.T) {
	jar := filepath.Join(t.TempDir(), "leaver.jar")
	data := javatest.Jar(t, javatest.Plugin{ID: "leaver", Version: "1", Class: "leaver.Leaver", Sources: map[string]string{"leaver/Leaver.java": leaver}})
	if err := os.WriteFile(jar, data, 0o600); err != nil {
		t.Fatal(err)
	}
	if code, out, errs := output(t, "plugin", "check", jar, "--set", "app.plugin.java.jvm-options=-Xmx48m -Dsome=thing"); code != 0 {
		t.Errorf("%d %s %s", code, out, errs)
	}
	code, out, errs := output(t, "plugin", "check", jar, "--set", "app.plugin.java.jvm-options=-Xmx48m -agentlib:nowhere")
	if !strings.Contains(out+errs, "nowhere") {
		t.Errorf("%d %s %s", code, out, errs)
	}
}
