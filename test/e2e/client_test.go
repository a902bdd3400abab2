// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"os"
	"os/exec"
	"testing"

	"example.org/app/internal/app/apptest"
	"example.org/app/internal/role"
)

// TestJavaScriptClient tests the protocol with a client that shares no code with the server.
func TestJavaScriptClient(t *testing.T) {
	t.Parallel()
	s := apptest.Start(t, []role.Role{role.Gateway, role.Service})
	cmd := exec.CommandContext(t.Context(), "node", "--test")
	cmd.Dir = "client"
	cmd.Env = append(os.Environ(), "APP_CLIENTS="+s.ClientURLs()[0], "APP_SERVICE="+s.URL(role.Service), "APP_GATEWAY="+s.URL(role.Gateway))
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}
