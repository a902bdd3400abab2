// SPDX-License-Identifier: Apache-2.0

package gateway

import (
	"time"

	"example.org/app/internal/config"
	"example.org/app/internal/wire"
)

// sweepLoop enforces time-outs, with one goroutine for all connections instead of a timer for each,
// and notices when services could not reach the gateway.
func (g *Gateway) sweepLoop() {
	ticker := time.NewTicker(sweepInterval)
	defer ticker.Stop()
	g.stalls.note(time.Now()) // The process may be paused before the first tick.
	for {
		select {
		case <-g.stop:
			return
		case <-ticker.C:
			now := time.Now()
			if g.options.Node.Cluster().Healthy() == nil {
				g.stalls.note(now)
			}
			g.sweep(now)
		}
	}
}

// sweep closes sessions and connections that have timed out.
func (g *Gateway) sweep(now time.Time) {
	for _, c := range g.open() {
		c.sweep(now)
	}
	settings := g.settings().Session
	idle := time.Duration(settings.CloseIdleSessionAfterSeconds) * time.Second
	switching := g.switchAfter(settings)
	if idle <= 0 && switching <= 0 {
		return
	}
	expired := g.sessions.all(func(s *Session) bool {
		return idle > 0 && now.Sub(s.active()) > idle || switching > 0 && now.Sub(s.request.time()) > switching
	})
	for _, s := range expired {
		if idle > 0 && now.Sub(s.active()) > idle {
			g.end(s, CloseReason{Status: wire.ClosedHeartbeatTimeout})
		} else {
			s.switchToUDP()
		}
	}
}

// switchAfter returns how long a client may send only heartbeats before it is moved to UDP; 0 means
// for ever.
func (g *Gateway) switchAfter(c config.GatewaySession) time.Duration {
	if g.options.Ports.udp == nil {
		return 0
	}
	return time.Duration(c.SwitchProtocolAfterSeconds) * time.Second
}

// sweep disconnects a client that has not logged in, or not disconnected, in time, and parks a
// silent one.
func (c *connection) sweep(now time.Time) {
	establish := time.Duration(c.transport.settings.Session.EstablishTimeoutMillis) * time.Millisecond
	c.mu.Lock()
	phase, overdue := c.phase, establish > 0 && now.Sub(c.accepted) > establish
	cut := phase == closing && !c.cut.IsZero() && now.After(c.cut)
	if phase == loggingIn && overdue {
		c.late = true
	}
	silent := phase == bound && c.gateway.readiness.usable() && c.silent(now)
	c.mu.Unlock()
	if silent {
		c.stream.interruptRead()
	}
	switch {
	case cut:
		c.hangUp()
	case overdue && (phase == waiting || phase == handshaking):
		c.close(CloseReason{Status: wire.ClosedLoginTimeout})
	}
}
