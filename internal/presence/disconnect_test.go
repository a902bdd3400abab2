// SPDX-License-Identifier: Apache-2.0

package presence

import (
	"context"
	"errors"
	"log/slog"
	"net/netip"
	"slices"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"example.org/app/internal/cluster"
	"example.org/app/internal/cluster/clustertest"
	"example.org/app/internal/link"
	"example.org/app/internal/role"
	"example.org/app/internal/wire"
)

// closer records what a gateway was asked to close.
type closer struct {
	mu    sync.Mutex
	asked []link.Disconnection
	// failures is how many of the next requests fail.
	failures int
}

func (c *closer) handle(_ context.Context, req *link.Disconnection) (*link.Disconnected, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.asked = append(c.asked, *req)
	if c.failures > 0 {
		c.failures--
		return nil, errors.New("not now")
	}
	return &link.Disconnected{Sessions: len(req.UserIDs) + len(req.SessionIDs) + len(req.IPs)}, nil
}

func (c *closer) take() []link.Disconnection {
	c.mu.Lock()
	defer c.mu.Unlock()
	asked := c.asked
	c.asked = nil
	return asked
}

func testDisconnect(t *testing.T, f *clustertest.Fabric) {
	a, b, s := start(t, f.Options, "a", role.Gateway), start(t, f.Options, "b", role.Gateway), start(t, f.Options, "s", role.Service)
	awaitPeers(t, a, b, s)
	closers := map[string]*closer{}
	for _, p := range []*peer{a, b} {
		c := &closer{}
		closers[p.node.ID()] = c
		if err := cluster.Handle(p.node, link.Disconnect, c.handle); err != nil {
			t.Fatal(err)
		}
		// Subscriptions of other connections propagate with a delay.
		s.await(t, "an answer", func() bool {
			_, err := cluster.CallNode(t.Context(), s.node, p.node.ID(), link.Disconnect, &link.Disconnection{})
			return err == nil
		})
		c.take()
	}
	a.open(t, session(1, wire.DeviceType_DESKTOP, 1, a))
	b.open(t, session(1, wire.DeviceType_IOS, 2, b))
	b.open(t, session(2, wire.DeviceType_IOS, 3, b))
	s.await(t, "the sessions", func() bool { e, _ := s.Lookup(1); return len(e.Sessions) == 2 && s.Online(2) })
	devices, ip := []wire.DeviceType{wire.DeviceType_IOS}, netip.MustParseAddr("10.0.0.1")
	for _, test := range []struct {
		name   string
		what   link.Disconnection
		asked  []link.Disconnection // of each gateway
		closed int
	}{
		{"nothing", link.Disconnection{Status: 600}, nil, 0},
		{
			"users",
			// One of them may just have logged in, unknown to this node.
			link.Disconnection{UserIDs: []int64{9, 1, 2}, Devices: devices, Status: 600},
			[]link.Disconnection{{UserIDs: []int64{9, 1, 2}, Devices: devices, Status: 600}},
			6,
		},
		{
			"addresses",
			link.Disconnection{IPs: []netip.Addr{ip}, Status: 701},
			[]link.Disconnection{{IPs: []netip.Addr{ip}, Status: 701}},
			2,
		},
		{
			"sessions and a user",
			link.Disconnection{UserIDs: []int64{2}, SessionIDs: []int32{7}, Status: 1},
			[]link.Disconnection{{UserIDs: []int64{2}, Status: 1}, {SessionIDs: []int32{7}, Status: 1}},
			4,
		},
		{
			"all",
			link.Disconnection{All: true, Status: 201},
			[]link.Disconnection{{All: true, Status: 201}},
			0,
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			closed, err := s.Disconnect(t.Context(), test.what)
			if err != nil || closed != test.closed {
				t.Errorf("closed %d, %v", closed, err)
			}
			for id, c := range closers {
				if diff := cmp.Diff(test.asked, c.take(), cmp.Comparer(func(a, b netip.Addr) bool { return a == b })); diff != "" {
					t.Errorf("%s: -want +got:\n%s", id, diff)
				}
			}
		})
	}
	// The same in the background.
	x := NewDisconnector(s.Directory, slog.New(slog.DiscardHandler))
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	x.Later(link.Disconnection{UserIDs: []int64{2}, Status: 700})
	go func() { done <- x.Run(ctx) }()
	x.Later(link.Disconnection{UserIDs: []int64{1}, Status: 700})
	var asked []link.Disconnection
	s.await(t, "what b was asked", func() bool {
		asked = append(asked, closers["b"].take()...)
		return len(asked) == 2
	})
	slices.SortFunc(asked, func(a, b link.Disconnection) int { return int(a.UserIDs[0] - b.UserIDs[0]) })
	if asked[0].UserIDs[0] != 1 || asked[1].UserIDs[0] != 2 || asked[1].Status != 700 {
		t.Errorf("asked for %+v", asked)
	}
	// A retry spares users who have logged in since.
	closers["b"].mu.Lock()
	closers["b"].failures = 1
	closers["b"].mu.Unlock()
	x.Later(link.Disconnection{UserIDs: []int64{1}, Status: 700})
	latest := s.node.Cluster().Now().Add(skew)
	asked = nil
	s.await(t, "the second attempt", func() bool {
		asked = append(asked, closers["b"].take()...)
		return len(asked) == 2
	})
	if !asked[0].Before.IsZero() || asked[1].Before.IsZero() || asked[1].Before.After(latest) {
		t.Errorf("asked for %+v", asked)
	}
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
}
