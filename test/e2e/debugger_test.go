// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"

	"example.org/app/internal/app/apptest"
	"example.org/app/internal/role"
	"example.org/app/test/need"
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

// startDebugged starts a server in debug mode with a plugin, and returns the debug port and the
// log.
func startDebugged(t *testing.T) (s *apptest.Server, port, log string) {
	t.Helper()
	port = strconv.Itoa(need.Port(t))
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "guard.js"), []byte(guard), 0o600); err != nil {
		t.Fatal(err)
	}
	log = filepath.Join(dir, "app.log")
	return apptest.Start(t, []role.Role{role.Gateway, role.Service}, "app.plugin.dir="+dir, "app.plugin.js.debug.enabled=true",
		"app.plugin.js.debug.inspect-port="+port, "app.logging.file.file-path="+log), port, log
}

// runDebugger runs a script of the folder debugger, which debugs the plugin of a server.
func runDebugger(t *testing.T, script string) {
	t.Helper()
	s, port, log := startDebugged(t)
	cmd := exec.CommandContext(t.Context(), "node", "--test", script)
	cmd.Dir = "debugger"
	cmd.Env = append(os.Environ(), "APP_DEBUG_HOST=127.0.0.1", "APP_DEBUG_PORT="+port, "APP_SERVICE="+s.URL(role.Service),
		"APP_PLUGIN="+filepath.Join(filepath.Dir(log), "guard.js"))
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

// TestDebugger debugs a plugin with a debugger that shares no code with the server.
func TestDebugger(t *testing.T) {
	t.Parallel()
	runDebugger(t, "debugger.test.mjs")
}

// TestDebugAdapterCalls sends the requests that the debug adapter of Visual Studio Code sends.
func TestDebugAdapterCalls(t *testing.T) {
	t.Parallel()
	runDebugger(t, "vscode-calls.mjs")
}

// TestDebugAdapter debugs a plugin with the debug adapter of Visual Studio Code. APP_TEST_JS_DEBUG
// is the path of its dapDebugServer.js, which is not on npm:
// https://github.com/microsoft/vscode-js-debug has it in its releases, and builds it by gulp
// dapDebugServer.
func TestDebugAdapter(t *testing.T) {
	if os.Getenv("APP_TEST_JS_DEBUG") == "" {
		t.Skip("APP_TEST_JS_DEBUG names no debug adapter")
	}
	runDebugger(t, "vscode.mjs")
}
