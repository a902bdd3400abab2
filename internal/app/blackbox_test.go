// SPDX-License-Identifier: Apache-2.0

package app_test

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"example.org/app/internal/app/apptest"
	"example.org/app/internal/recording/jfr/jfrtest"
	"example.org/app/internal/role"
	"example.org/app/test/need"
)

const withBlackBox = "app.flight-recorder.continuous.enabled=true"

// awaitDump runs do until the black box was kept for a reason, and checks that it was kept once and
// is readable by tools.
func awaitDump(t *testing.T, s *apptest.Server, r role.Role, description string, do func()) {
	t.Helper()
	var list string
	eventually(t, "the black box", func() bool {
		do()
		_, list = ask(t, s, r, "GET", "/flight-recordings", "")
		return strings.Contains(list, description)
	})
	do()
	_, list = ask(t, s, r, "GET", "/flight-recordings", "")
	if n := strings.Count(list, description[:strings.LastIndex(description, ":")]); n != 1 {
		t.Errorf("it was kept %d times: %s", n, list)
	}
	status, data := ask(t, s, r, "GET", "/flight-recordings/jfr?id=1", "")
	if status != 200 {
		t.Fatalf("the download is %d %s", status, data)
	}
	path := filepath.Join(t.TempDir(), "1.jfr")
	if err := os.WriteFile(path, []byte(data), 0o600); err != nil {
		t.Fatal(err)
	}
	jfrtest.Check(t, path)
}

func TestAQuarantinedPluginIsInTheBlackBox(t *testing.T) {
	need.Time(t)
	folder := folderOf(t, map[string]string{"bad.js": pluginScript("bad", "'AdminActionHandler'", `
  handleAdminAction() { throw new Error('no'); }`)})
	s := apptest.Start(t, role.All, withBlackBox, "app.plugin.dir="+folder, "app.plugin.quarantine.enabled=true", "app.plugin.quarantine.failures=2")
	awaitDump(t, s, role.Service, "black box: plugin quarantined: bad ", func() { ask(t, s, role.Service, "GET", "/users", "") })
}

func TestAJVMThatDiesIsInTheBlackBox(t *testing.T) {
	need.Time(t)
	s := apptest.Start(t, role.All, withBlackBox, "suffix.text=*", "app.plugin.java.spare=false")
	wantForm(t, s, "/plugins/java", 200, `"id":"suffix"`, "suffix.jar", javaPlugin(t, 1))
	want(t, s, role.Service, "PUT", "/plugins?ids=suffix", `{"status":"STARTED"}`, 200)
	if err := syscall.Kill(javaProcess(t), syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	awaitDump(t, s, role.Gateway, "black box: JVM died", func() {})
}

func TestAHealthCheckThatFailsIsInTheBlackBox(t *testing.T) {
	need.Time(t)
	s := apptest.Start(t, role.All, withBlackBox, "app.health-check.check-interval-seconds=1", "app.health-check.memory.max-available-memory-percentage=1")
	awaitDump(t, s, role.Service, "black box: health check failed: machine", func() {})
}
