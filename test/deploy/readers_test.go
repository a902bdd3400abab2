// SPDX-License-Identifier: Apache-2.0

package deploy

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestReaders parses the files in deploy/ with the code of Kustomize, Kubernetes and Prometheus,
// and then checks that these detect a mistake in each file.
func TestReaders(t *testing.T) {
	program := filepath.Join(t.TempDir(), "deploy")
	build := exec.CommandContext(t.Context(), "go", "build", "-o", program, ".")
	build.Dir = filepath.Join(root, "tools", "deploy")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build tools/deploy: %v\n%s", err, out)
	}
	check := func(t *testing.T, root string) (string, error) {
		t.Helper()
		out, err := exec.CommandContext(t.Context(), program, root).CombinedOutput()
		return string(out), err
	}
	if out, err := check(t, root); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
	for _, tt := range []struct{ name, file, old, new, want string }{
		{"field", "kubernetes/gateway.yaml", "periodSeconds:", "periodSecond:", "periodSecond"},
		{"type", "kubernetes/service.yaml", "replicas: 2", "replicas: two", "replicas"},
		{"monitor", "kubernetes/servicemonitor.yaml", "endpoints:", "endpoint:", "endpoint"},
		{"resource", "kubernetes/kustomization.yaml", "- gateway.yaml", "- gateways.yaml", "gateways.yaml"},
		{"alert", "monitoring/alerts.yaml", `up{job="app"} == 0`, `up{job="app"} === 0`, "could not parse expression"},
		{"panel", "monitoring/dashboard.json", "sum by (instance) (rate(", "sum by (instance) (rates(", "unknown function"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tree := t.TempDir()
			if err := os.CopyFS(filepath.Join(tree, "deploy"), os.DirFS(filepath.Join(root, "deploy"))); err != nil {
				t.Fatal(err)
			}
			file := filepath.Join(tree, "deploy", tt.file)
			text := string(read(t, "deploy/"+tt.file))
			changed := strings.Replace(text, tt.old, tt.new, 1)
			if changed == text {
				t.Fatalf("%s has no %q", tt.file, tt.old)
			}
			if err := os.WriteFile(file, []byte(changed), 0o600); err != nil {
				t.Fatal(err)
			}
			if out, err := check(t, tree); err == nil || !strings.Contains(out, tt.want) {
				t.Errorf("the mistake was not found: %v\n%s", err, out)
			}
		})
	}
}
