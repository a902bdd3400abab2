// SPDX-License-Identifier: Apache-2.0

package presence

import (
	"errors"
	"net"
	"sync"
	"testing"

	"example.org/app/internal/cluster"
	"example.org/app/internal/cluster/clustertest"
	"example.org/app/internal/role"
	"example.org/app/internal/wire"
	"example.org/app/test/need"
)

// A cuttable server refuses and breaks connections on demand.
type cuttable struct {
	cluster.Options
	mu    sync.Mutex
	cut   bool
	conns []net.Conn
}

func (c *cuttable) InProcessConn() (net.Conn, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.cut {
		return nil, errors.New("cut off")
	}
	conn, err := c.Server.InProcessConn()
	if err == nil {
		c.conns = append(c.conns, conn)
	}
	return conn, err
}

func (c *cuttable) set(cut bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.cut = cut
	if cut {
		for _, conn := range c.conns {
			_ = conn.Close()
		}
		c.conns = nil
	}
}

// TestPartition disconnects a gateway for so long that the others take it for gone.
func TestPartition(t *testing.T) {
	need.Time(t)
	f := clustertest.Embedded(t)
	line := &cuttable{Options: f.Options}
	a, b := start(t, cluster.Options{Server: line}, "a", role.Gateway), start(t, f.Options, "b", role.Gateway)
	awaitPeers(t, a, b)
	taken, stays := session(1, wire.DeviceType_DESKTOP, 1, a), session(2, wire.DeviceType_DESKTOP, 2, a)
	goes := session(3, wire.DeviceType_IOS, 3, a)
	a.open(t, taken)
	a.open(t, stays)
	a.open(t, goes)
	b.await(t, "the sessions", func() bool { return b.sees(1, taken) && b.sees(2, stays) && b.sees(3, goes) })
	line.set(true)
	b.await(t, "the end of the sessions", func() bool { return b.sees(1) && b.sees(2) })
	b.await(t, "clean records", func() bool { return b.table.get(1) == nil && b.table.get(2) == nil })
	if !a.sees(1, taken) || !a.sees(2, stays) {
		t.Error("the gateway that is cut off has forgotten its own sessions")
	}
	instead := session(1, wire.DeviceType_DESKTOP, 3, b)
	b.open(t, instead)
	alone := session(3, wire.DeviceType_DESKTOP, 4, b)
	if _, err := b.Open(t.Context(), alone, wire.UserStatus_AVAILABLE, func(Entry) ([]wire.DeviceType, error) {
		return []wire.DeviceType{wire.DeviceType_DESKTOP, wire.DeviceType_IOS}, nil
	}); err != nil {
		t.Fatal(err)
	}
	line.set(false)
	for _, p := range []*peer{a, b} {
		p.await(t, "who won", func() bool { return p.sees(1, instead) && p.sees(2, stays) && p.sees(3, alone) })
	}
	a.await(t, "its losses", func() bool { return a.has(taken.Key()) && a.has(goes.Key()) })
	if a.has(stays.Key()) || len(b.lost) > 0 {
		t.Errorf("lost %v and %v", a.lost, b.lost)
	}
}
