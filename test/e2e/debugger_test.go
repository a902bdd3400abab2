// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"

	"example.org/app/internal/app/apptest"
	"example.org/app/internal/role"
)

const guard = `class Guard extends AppExtension {
  #seen = 0
  getExtensionPoints() { return ['AdminActionHandler'] }
  handleAdminAction(action) {
    this.#seen++
    console.log('seen', this.#seen)
  }
}
export default class extends AppPlugin {
  getDescriptor() { return { id: 'guard' } }
  getExtensions() { return [Guard] }
}
`

// startDebugged starts a server in debug mode with a plugin, and returns the port that debuggers attach to and the log.
func startDebugged(t *testing.T) (s *apptest.Server, port, log string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	port = strconv.Itoa(l.Addr().(*net.TCPAddr).Port)
	l.Close()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "guard.js"), []byte(guard), 0o600); err != nil {
		t.Fatal(err)
	}
	log = filepath.Join(dir, "app.log")
	return apptest.Start(t, []role.Role{role.Gateway, role.Service}, "app.plugin.dir="+dir, "app.plugin.js.debug.enabled=true",
		"app.plugin.js.debug.inspect-port="+port, "app.logging.file.file-path="+log), port, log
}

// TestDebugger lets a debugger that shares no code with the server debug a plugin.
func TestDebugger(t *testing.T) {
	s, port, _ := startDebugged(t)
	cmd := exec.CommandContext(t.Context(), "node", "--test")
	cmd.Dir = "debugger"
	cmd.Env = append(os.Environ(), "APP_DEBUG_HOST=127.0.0.1", "APP_DEBUG_PORT="+port, "APP_SERVICE="+s.URL(role.Service))
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}
