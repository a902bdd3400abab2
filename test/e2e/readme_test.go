// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"example.org/app/internal/app/apptest"
	"example.org/app/internal/role"
)

// TestTour runs every command of the README's tour and checks its response.
func TestTour(t *testing.T) {
	t.Parallel()
	readme, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, tour, _ := strings.Cut(string(readme), "## A five-minute tour")
	_, tour, _ = strings.Cut(tour, "in another terminal:\n\n```sh\n")
	tour, _, _ = strings.Cut(tour, "```")
	server := apptest.Start(t, role.All)
	host := strings.NewReplacer(
		"localhost:8510", strings.TrimPrefix(server.URL(role.Service), "http://"),
		"localhost:9510", strings.TrimPrefix(server.URL(role.Gateway), "http://"),
	)
	commands := 0
	for line := range strings.Lines(tour) {
		line = strings.TrimSpace(line)
		if !strings.HasPrefix(line, "curl ") {
			continue
		}
		commands++
		out, err := exec.CommandContext(t.Context(), "bash", "-c", host.Replace(line)).CombinedOutput()
		if err != nil {
			t.Errorf("%s: %v\n%s", line, err, out)
		}
		want := `"code":1000`
		switch {
		case strings.Contains(line, "Alice was here"):
			want = `"the permission ADMIN_UPDATE is needed"`
		case strings.Contains(line, "/prometheus"):
			want = "system_cpu_usage"
		case strings.Contains(line, "/csv"):
			want = "jvm.memory.used,area:heap,GAUGE,"
		case strings.Contains(line, "/tail"):
			want = "data: {"
		}
		if !strings.Contains(string(out), want) {
			t.Errorf("%s\nanswers %s\nwithout %s", line, out, want)
		}
	}
	if commands < 10 {
		t.Errorf("the tour has %d commands", commands)
	}
}
