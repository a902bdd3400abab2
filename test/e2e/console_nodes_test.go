// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/chromedp"

	"example.org/app/internal/app"
	"example.org/app/internal/cluster/clustertest"
	"example.org/app/internal/config"
	"example.org/app/internal/role"
)

// nodeVariable makes a process of the test a gateway; its value is the properties, one per line.
const nodeVariable = "APP_TEST_NODE"

// runNode runs a gateway until the process is killed or terminated.
func runNode(set string) {
	ctx, cancel := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer cancel()
	c, err := config.Load(config.Options{Home: os.Getenv("HOME"), Set: strings.Split(set, "\n")})
	if err == nil {
		err = app.Run(ctx, app.Options{Roles: []role.Role{role.Gateway}, Config: c, Ready: func(*app.App) { fmt.Println("ready") }})
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// startNode starts a gateway in its own process. end ends it with a signal: one that it cannot
// catch, or one that it handles.
func startNode(t *testing.T, set []string, id string) (end func(os.Signal)) {
	t.Helper()
	cmd := exec.CommandContext(context.Background(), os.Args[0]) // The test kills it.
	var problems strings.Builder
	cmd.Stderr = &problems
	cmd.Env = append(os.Environ(), "HOME="+t.TempDir(), nodeVariable+"="+strings.Join(append(slices.Clone(set),
		"app.cluster.node.id="+id, "app.gateway.admin-api.http.port=0", "app.gateway.websocket.port=0", "app.gateway.tcp.port=0", "app.logging.console.enabled=false",
		"app.health-check.cpu.unhealthy-load-threshold-percentage=100", "app.health-check.overload.max-wait-millis=0",
		"app.gateway.admin-api.http.host=127.0.0.1", "app.gateway.admin-api.address.advertise-strategy=BIND_ADDRESS",
	), "\n"))
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	dead := false
	end = func(s os.Signal) {
		if dead {
			return
		}
		dead = true
		if err := cmd.Process.Signal(s); err != nil {
			t.Errorf("end %s: %v", id, err)
		}
		if err := cmd.Wait(); err != nil && s != syscall.SIGKILL {
			t.Errorf("%s ended: %v\n%s", id, err, problems.String())
		}
	}
	t.Cleanup(func() { end(syscall.SIGKILL) })
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		if lines.Text() == "ready" {
			return end
		}
	}
	end(syscall.SIGKILL)
	t.Fatalf("the node %s did not start: %s", id, problems.String())
	return nil
}

// clustered returns properties of nodes that use a NATS server of the test.
func clustered(t *testing.T) []string {
	t.Helper()
	server := clustertest.Listen(t)
	return []string{
		"app.cluster.nats.url=" + server.URL(), "app.cluster.nats.token=secret", "app.store.url=sqlite:" + filepath.Join(t.TempDir(), "app.db"),
		"app.cluster.discovery.heartbeat-interval-seconds=1", "app.cluster.discovery.heartbeat-timeout-seconds=3",
	}
}

// consoleNodes kills a node and starts it again: the overview shows both without a reload. The
// node's recordings, plugins and logs are available through the node that serves the console.
func consoleNodes(c *console, t *testing.T) {
	c.tolerate("502 (Bad Gateway)")
	c.open("")
	c.wait("document.querySelectorAll('tr[data-node]').length === 2")
	eval[bool](c.page, "window.notReloaded = true")
	end := startNode(t, c.set, "second")
	c.waitText("tr[data-node=second]", "Up")
	end(syscall.SIGKILL)
	c.waitText("tr[data-node=second]", "cannot be reached")
	end = startNode(t, c.set, "second")
	c.waitText("tr[data-node=second]", "Up")
	c.wait("window.notReloaded")

	c.open("recordings?node=second")
	c.waitText("[data-recordings=second]", "No recordings.")
	c.click("[name=start-recording]")
	c.click("[data-dialog=startRecording] [name=confirm-start]")
	c.wait("document.querySelector('[data-recordings=second] [data-state=RUNNING]')")
	c.open("recordings")
	c.wait("document.querySelectorAll('[data-recordings]').length === 2")
	c.wait("document.querySelectorAll('[data-recording]').length === 1")
	c.open("cluster/plugin?node=second")
	c.waitText("[data-plugin-node=second]", "No plugins.")
	c.open("logs?node=second")
	c.wait("document.querySelectorAll('.logline').length > 0")
	c.open("")
	c.waitText("tr[data-node=second]", "Up")
	end(syscall.SIGTERM)
	c.waitText("tr[data-gone=second]", "left the cluster")
}

// consoleOffline interrupts the connection of the browser and restores it.
func consoleOffline(c *console, t *testing.T) {
	c.tolerate("net::ERR_INTERNET_DISCONNECTED")
	c.open("")
	c.wait("document.querySelectorAll('tr[data-node]').length === 2")
	eval[bool](c.page, "window.notReloaded = true")
	offline := func(on bool) {
		rules := network.EmulateNetworkConditionsByRuleParams{MatchedNetworkConditions: []*network.Conditions{}}
		if on {
			rules.MatchedNetworkConditions = append(rules.MatchedNetworkConditions, &network.Conditions{Offline: true, DownloadThroughput: -1, UploadThroughput: -1})
		}
		if _, err := chromedp.Call(c.ctx, network.EmulateNetworkConditionsByRule, rules); err != nil {
			t.Fatal(err)
		}
	}
	offline(true)
	c.waitText("[role=alert]", "Connection lost")
	offline(false)
	c.wait("!document.querySelector('[role=alert]') && window.notReloaded")
}
