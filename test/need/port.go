// SPDX-License-Identifier: Apache-2.0

package need

import (
	"math/rand/v2"
	"net"
	"strconv"
	"sync"
	"testing"
)

// firstPort and lastPort bound the ports that Port returns. They are below the ephemeral ports of
// Linux and macOS, so that no other connection or listener takes a port before a test uses it, or
// while its server restarts.
const firstPort, lastPort = 20_000, 29_999

// ports are the ports that were returned; they are not returned again.
var ports struct {
	mu    sync.Mutex
	taken map[int]bool
}

// Port returns an unused port of the loopback interface, for a server that must know its port
// before it starts, or keep it over restarts.
func Port(t testing.TB) int {
	t.Helper()
	ports.mu.Lock()
	defer ports.mu.Unlock()
	if ports.taken == nil {
		ports.taken = map[int]bool{}
	}
	for range lastPort - firstPort {
		port := firstPort + rand.N(lastPort-firstPort+1)
		if ports.taken[port] {
			continue
		}
		l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
		if err != nil {
			continue
		}
		_ = l.Close()
		ports.taken[port] = true
		return port
	}
	t.Fatal("no port is free")
	return 0
}
