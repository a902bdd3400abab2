// SPDX-License-Identifier: Apache-2.0

package presence

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"testing"

	"example.org/app/internal/cluster"
	"example.org/app/internal/cluster/clustertest"
	"example.org/app/internal/role"
	"example.org/app/internal/wire"
	"example.org/app/test/need"
)

// childVariable makes the test binary run as a gateway at the given server.
const childVariable = "APP_TEST_PRESENCE_GATEWAY"

// childSessions is how many sessions the gateway opens.
const childSessions = 500

// runChild runs a gateway with sessions until standard input ends.
func runChild() {
	ctx := context.Background()
	fail := func(err error) {
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
	c, err := cluster.Connect(ctx, clustertest.Fast(cluster.Options{URL: os.Getenv(childVariable)}))
	fail(err)
	n, err := c.Join(ctx, cluster.NodeOptions{ID: "child", Type: role.Gateway})
	fail(err)
	d, err := Start(ctx, n, Options{})
	fail(err)
	for user := range int64(childSessions) {
		_, err := d.Open(ctx, Session{UserID: user, Device: wire.DeviceType_DESKTOP, ID: 1}, wire.UserStatus_AVAILABLE, nil)
		fail(err)
	}
	fmt.Fprintln(os.Stdout, "open")
	_, _ = io.Copy(io.Discard, os.Stdin)
	os.Exit(0)
}

// TestKill kills a gateway, whose sessions must disappear everywhere.
func TestKill(t *testing.T) {
	need.Time(t)
	server := clustertest.StartServer(t)
	g := start(t, cluster.Options{URL: server.URL()}, "g", role.Gateway)
	command := exec.Command(os.Args[0], "-test.run=^$")
	command.Env = append(os.Environ(), childVariable+"="+server.URL())
	command.Stderr = os.Stderr
	input, err := command.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	defer input.Close()
	output, err := command.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(output).ReadString('\n')
	if err != nil {
		t.Fatalf("read from the gateway: %q, %v", line, err)
	}
	own := session(1, wire.DeviceType_IOS, 9, g)
	g.open(t, own)
	g.await(t, "the sessions", func() bool {
		total, nodes := g.Count()
		return total == childSessions && nodes["child"] == childSessions
	})
	if err := command.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = command.Wait()
	g.await(t, "the end of the sessions", func() bool { total, _ := g.Count(); return total == 1 && g.sees(1, own) })
	// Their users can log in anywhere, and the bucket is cleaned up.
	if replaced := g.open(t, session(2, wire.DeviceType_DESKTOP, 3, g)); len(replaced) > 0 {
		t.Errorf("replaced %+v", replaced)
	}
	g.await(t, "a clean bucket", func() bool {
		b, err := g.current.await(t.Context())
		if err != nil {
			return false
		}
		for _, user := range []int64{0, 3, childSessions - 1} {
			if value, _, err := b.read(t.Context(), b.keyOf(user)); err != nil || value != nil {
				return false
			}
		}
		return true
	})
}
