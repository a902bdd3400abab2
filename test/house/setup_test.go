// SPDX-License-Identifier: Apache-2.0

package house

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestDownloadedJDKIsChecked gives the set-up another archive than the pinned one: nothing of it
// may be installed.
func TestDownloadedJDKIsChecked(t *testing.T) {
	if _, err := exec.LookPath("curl"); err != nil {
		t.Skip("set-up would install curl: ", err)
	}
	dir := t.TempDir()
	// A package manager without a JDK, as that of Debian 12.
	for _, name := range []string{"apt-get", "apt-cache", "brew", "sudo"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/sh\nexit 0\n"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	archive := filepath.Join(dir, "jdk.tar.gz")
	if err := os.WriteFile(archive, []byte("not what was pinned"), 0o600); err != nil {
		t.Fatal(err)
	}
	cache := filepath.Join(dir, "cache")
	run := func(args ...string) (string, error) {
		command := exec.CommandContext(t.Context(), filepath.Join(root, "scripts", "need"), args...)
		command.Env = append(os.Environ(), "APP_JDK=none", "APP_CACHE="+cache, "APP_JDK_URL=file://"+archive, "PATH="+dir+":"+os.Getenv("PATH"))
		out, err := command.CombinedOutput()
		return string(out), err
	}
	if out, err := run("jdk"); err == nil || !strings.Contains(out, "the SHA-256 of") || !strings.Contains(out, "missing: a JDK of version 21 or newer") {
		t.Errorf("need jdk: %v\n%s", err, out)
	}
	if out, err := run("--optional", "jdk"); err != nil || !strings.Contains(out, "going on without jdk") {
		t.Errorf("need --optional jdk: %v\n%s", err, out)
	}
	if left, err := os.ReadDir(filepath.Join(cache, "jdk")); err != nil || len(left) > 0 {
		t.Errorf("it leaves %v, %v", left, err)
	}
}
