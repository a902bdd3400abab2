// SPDX-License-Identifier: Apache-2.0

package gateway

import (
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"example.org/app/internal/wire"
	"example.org/app/test/client"
)

// BenchmarkIdleSessions reports the memory of the process per idle session. The clients are in
// processes of their own, so that theirs does not count.
func BenchmarkIdleSessions(b *testing.B) {
	const sessions, perProcess = 4000, 2000
	w := newWorld(b)
	m := w.gateway("g")
	before := residentBytes(b)
	for first := 1; first <= sessions; first += perProcess {
		cmd := exec.Command(os.Args[0], "-test.run=^TestIdleClients$")
		cmd.Env = append(os.Environ(), "IDLE_CLIENTS="+m.ws+" "+strconv.Itoa(first)+" "+strconv.Itoa(perProcess))
		stdin, err := cmd.StdinPipe()
		if err != nil {
			b.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			b.Fatal(err)
		}
		b.Cleanup(func() {
			stdin.Close()
			_ = cmd.Wait()
		})
	}
	eventually(b, "all are logged in", func() bool { n, _ := m.Sessions(); return n == sessions })
	for b.Loop() {
		// The figure does not depend on b.N.
	}
	b.ReportMetric(float64(residentBytes(b)-before)/sessions, "bytes/session")
}

// TestIdleClients is the process with the clients: it does nothing unless it was started as such.
func TestIdleClients(t *testing.T) {
	fields := strings.Fields(os.Getenv("IDLE_CLIENTS"))
	if len(fields) != 3 {
		return
	}
	first, _ := strconv.Atoi(fields[1])
	count, _ := strconv.Atoi(fields[2])
	for i := range count {
		c, err := client.Dial(t.Context(), fields[0], client.Options{Discard: true})
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		if err := c.Login(t.Context(), &wire.CreateSessionRequest{Version: 1, UserId: int64(first + i)}); err != nil {
			t.Fatal(err)
		}
	}
	_, _ = os.Stdin.Read(make([]byte, 1))
}

// residentBytes returns the resident memory of this process.
func residentBytes(b *testing.B) int {
	b.Helper()
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		b.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(status), "VmRSS:")
	kilobytes, err := strconv.Atoi(strings.Fields(rest)[0])
	if err != nil {
		b.Fatal(err)
	}
	return kilobytes << 10
}
