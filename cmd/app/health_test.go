// SPDX-License-Identifier: Apache-2.0

package main

import (
	"regexp"
	"syscall"
	"testing"
)

// TestHealth checks a running server, and a stopped one.
func TestHealth(t *testing.T) {
	s := run(t, t.TempDir(), "--set=app.health-check.cpu.unhealthy-load-threshold-percentage=100")
	args := []string{"health"}
	for _, r := range []string{"service", "gateway"} {
		found := regexp.MustCompile(r + ` +admin interface +http://127\.0\.0\.1:(\d+)`).FindStringSubmatch(s.banner)
		if found == nil {
			t.Fatalf("no address of %s in %s", r, s.banner)
		}
		args = append(args, "--set=app."+r+".admin-api.http.port="+found[1])
	}
	out, err := command(t, nil, args...).CombinedOutput()
	if err != nil || string(out) != "service is ready\ngateway is ready\n" {
		t.Errorf("with a server: %v %s", err, out)
	}
	s.Process.Signal(syscall.SIGTERM)
	s.wait()
	out, err = command(t, nil, args...).CombinedOutput()
	if err == nil || string(out) != "app: no role answers on this machine\n" {
		t.Errorf("without a server: %v %s", err, out)
	}
}
