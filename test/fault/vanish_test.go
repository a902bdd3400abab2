// SPDX-License-Identifier: Apache-2.0

//go:build linux

package fault

import (
	"crypto/rand"
	"fmt"
	"io"
	"net"
	"net/url"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"example.org/app/internal/cluster/clustertest"
	"example.org/app/internal/store/storetest"
	"example.org/app/internal/wire"
	chat "example.org/app/test/client"
)

// TestMachineVanishes cuts off one of two machines while users send messages: its service and its
// gateway are unreachable, but their connections stay open. The other service takes over, and users
// of the gateway become offline. When the machine is back, it rejoins the cluster.
func TestMachineVanishes(t *testing.T) {
	beside(t)
	m := newMachine(t)
	nats, db := clustertest.StartServer(t, `ping_interval: "2s"`, "ping_max: 2"), storetest.StartServer(t)
	here := append([]string{"app.store.url=" + db.URL(), "app.cluster.nats.url=" + nats.URL()}, openClients...)
	there := append([]string{
		"app.store.url=" + m.database(db.URL()), "app.cluster.nats.url=" + m.reach("tcp", strings.TrimPrefix(nats.URL(), "nats://"), "nats://%s"),
		"app.gateway.websocket.host=" + m.address, "app.gateway.tcp.host=" + m.address,
	}, openClients...)
	services := []*process{start(t, "service", "service-0", here...), startWith(t, m.command(binary), "service", "service-1", there...)}
	gateways := []*process{start(t, "gateway", "gateway-0", here...), startWith(t, m.command(binary), "gateway", "gateway-1", there...)}
	const senders = 6
	createUsers(t, services[0], 2*senders+1)
	status := func() string {
		_, body := services[0].call("GET", fmt.Sprintf("/users/online-infos/statuses?ids=%d", 2*senders+1), "")
		return body
	}
	user := chat.LogIn(t, gateways[1].clients[0], 2*senders+1, chat.WithPassword("secret"))
	eventually(t, "the user of the other machine is online", func() bool { return strings.Contains(status(), `"AVAILABLE"`) })
	tr := newTraffic(t, senders, 4, gateways[0], gateways[0])
	tr.progress("before anything happens")
	gone := time.Now()
	m.vanish()
	tr.progress("after the machine vanished")
	t.Logf("everybody was answered again %v after the machine vanished", time.Since(gone).Round(time.Millisecond))
	eventually(t, "the user of the machine is offline", func() bool { return strings.Contains(status(), `"OFFLINE"`) })
	t.Logf("its user was offline after %v", time.Since(gone).Round(time.Millisecond))
	m.comeBack()
	eventually(t, "the machine takes part again", func() bool {
		_, body := services[0].call("GET", "/cluster/members", "")
		return strings.Count(body, `"healthy":true`) == 4
	})
	tr.progress("after it came back")
	user.Closed(wire.ClosedServerUnavailable) // No message was sent to it meanwhile.
	tr.settle(db.URL())
}

// A machine is a network namespace that is linked to the one of the test.
type machine struct {
	t *testing.T
	// runner is the command prefix that runs a program on the machine.
	runner []string
	// address is the address of the machine, line its interface of the link, and gate the address
	// of the test on the link.
	address, line, gate string
}

// newMachine creates a machine, or skips the test if that is not permitted.
func newMachine(t *testing.T) *machine {
	t.Helper()
	id := strings.ToLower(rand.Text()[:8])
	subnet := fmt.Sprintf("10.%d.%d.", 100+id[0]%100, id[1])
	m := &machine{
		t: t, runner: []string{"nsenter", "--net=" + filepath.Join("/run/netns", "app"+id), "--"},
		address: subnet + "2", line: "appb" + id, gate: subnet + "1",
	}
	if out, err := exec.Command("ip", "netns", "add", "app"+id).CombinedOutput(); err != nil {
		t.Skipf("there are no network namespaces, so that no machine can vanish: %v %s", err, out)
	}
	t.Cleanup(func() { m.ip("netns", "delete", "app"+id) })
	m.ip("link", "add", "appa"+id, "type", "veth", "peer", "name", m.line, "netns", "app"+id)
	m.ip("address", "add", m.gate+"/30", "dev", "appa"+id)
	m.ip("link", "set", "appa"+id, "up")
	m.there("address", "add", m.address+"/30", "dev", m.line)
	m.there("link", "set", "lo", "up")
	m.there("link", "set", m.line, "up")
	return m
}

// ip runs the program ip.
func (m *machine) ip(args ...string) { m.run(append([]string{"ip"}, args...)) }

// command returns the command line that runs a program on the machine.
func (m *machine) command(program ...string) []string { return slices.Concat(m.runner, program) }

// there runs the program ip on the machine.
func (m *machine) there(args ...string) {
	m.run(m.command(append([]string{"ip"}, args...)...))
}

func (m *machine) run(command []string) {
	m.t.Helper()
	if out, err := exec.Command(command[0], command[1:]...).CombinedOutput(); err != nil {
		m.t.Fatalf("%q: %v %s", command, err, out)
	}
}

// vanish drops all packets to and from the machine. Connections are not closed.
func (m *machine) vanish() { m.there("link", "set", m.line, "down") }

func (m *machine) comeBack() { m.there("link", "set", m.line, "up") }

// database returns the URL of a database on a socket, for programs of the machine.
func (m *machine) database(at string) string {
	m.t.Helper()
	u, err := url.Parse(at)
	if err != nil {
		m.t.Fatal(err)
	}
	u.Host = m.reach("unix", filepath.Join(u.Query().Get("host"), ".s.PGSQL.5432"), "%s")
	u.RawQuery = "sslmode=disable"
	return u.String()
}

// reach lets programs of the machine connect to a server of the test, and returns its address there
// in a format.
func (m *machine) reach(network, server, format string) string {
	m.t.Helper()
	listener, err := net.Listen("tcp", m.gate+":0")
	if err != nil {
		m.t.Fatal(err)
	}
	var group sync.WaitGroup
	var mu sync.Mutex
	var open []net.Conn
	m.t.Cleanup(func() {
		_ = listener.Close()
		mu.Lock()
		for _, c := range open {
			_ = c.Close()
		}
		mu.Unlock()
		group.Wait()
	})
	group.Go(func() {
		for {
			from, err := listener.Accept()
			if err != nil {
				return
			}
			to, err := net.Dial(network, server)
			if err != nil {
				_ = from.Close()
				continue
			}
			mu.Lock()
			open = append(open, from, to)
			mu.Unlock()
			for _, ends := range [][2]net.Conn{{from, to}, {to, from}} {
				group.Go(func() {
					_, _ = io.Copy(ends[0], ends[1])
					_ = ends[0].Close()
				})
			}
		}
	})
	return fmt.Sprintf(format, listener.Addr())
}
