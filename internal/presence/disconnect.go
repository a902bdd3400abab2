// SPDX-License-Identifier: Apache-2.0

package presence

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"time"

	"example.org/app/internal/cluster"
	"example.org/app/internal/link"
	"example.org/app/internal/role"
	"example.org/app/internal/sleep"
)

const (
	// disconnectBatch bounds the users or addresses of one call.
	disconnectBatch = 10_000
	// disconnectAttempts is how often sessions are asked to be closed that nobody waits for.
	disconnectAttempts = 3
	// disconnectPause is the time between attempts.
	disconnectPause = time.Second
	// skew is by how much the clocks of two nodes may differ: who logs in within that time after the cause of a repeated
	// request may be disconnected too.
	skew = 250 * time.Millisecond
	// disconnecting bounds the calls at a time that nobody waits for.
	disconnecting = 16
)

// Disconnect has sessions closed wherever they are. It asks every gateway, because one may hold a session that is so new
// that this node has not heard of it. It returns how many were closed, also when some gateways failed.
func (d *Directory) Disconnect(ctx context.Context, what link.Disconnection) (closed int, err error) {
	var mu sync.Mutex
	var failures []error
	var group sync.WaitGroup
	requests := pieces(what)
	for _, m := range d.node.Cluster().Members() {
		if m.Type != role.Gateway || !m.Status.HasJoined {
			continue
		}
		group.Go(func() {
			for _, req := range requests {
				resp, err := cluster.CallNode(ctx, d.node, m.NodeID, link.Disconnect, req)
				mu.Lock()
				if err == nil {
					closed += resp.Sessions
				} else if d.alive(m.NodeID) {
					failures = append(failures, err)
				}
				mu.Unlock()
			}
		})
	}
	group.Wait()
	return closed, errors.Join(failures...)
}

// alive reports whether the node is still a member; sessions of one that is not are gone with it.
func (d *Directory) alive(nodeID string) bool {
	_, ok := d.node.Cluster().Member(nodeID)
	return ok
}

// pieces are requests of bounded size for all that is to be closed.
func pieces(what link.Disconnection) (all []*link.Disconnection) {
	for users := range slices.Chunk(what.UserIDs, disconnectBatch) {
		all = append(all, &link.Disconnection{UserIDs: users, Devices: what.Devices, Before: what.Before, Status: what.Status})
	}
	if len(what.SessionIDs) > 0 || what.All {
		all = append(all, &link.Disconnection{SessionIDs: what.SessionIDs, All: what.All, Before: what.Before, Status: what.Status})
	}
	for ips := range slices.Chunk(what.IPs, disconnectBatch) {
		all = append(all, &link.Disconnection{IPs: ips, Before: what.Before, Status: what.Status})
	}
	return all
}

// A Disconnector closes sessions for those who must not wait for it.
type Disconnector struct {
	directory *Directory
	logger    *slog.Logger
	wake      chan struct{}

	mu      sync.Mutex
	waiting []link.Disconnection
}

// NewDisconnector returns a disconnector, which does its work in Run.
func NewDisconnector(d *Directory, logger *slog.Logger) *Disconnector {
	return &Disconnector{directory: d, logger: logger, wake: make(chan struct{}, 1)}
}

// Later has sessions closed soon. It returns at once. If that has to be tried again, sessions whose login began later
// than this stay.
func (x *Disconnector) Later(what link.Disconnection) {
	if what.Before.IsZero() {
		what.Before = x.directory.node.Cluster().Now().Add(skew)
	}
	x.mu.Lock()
	x.waiting = append(x.waiting, what)
	x.mu.Unlock()
	wake(x.wake)
}

// Run closes sessions until ctx ends. What waits then is not done: whoever must not be online is refused at the next
// login.
func (x *Disconnector) Run(ctx context.Context) error {
	var group sync.WaitGroup
	defer group.Wait()
	slots := make(chan struct{}, disconnecting)
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-x.wake:
		}
		x.mu.Lock()
		waiting := x.waiting
		x.waiting = nil
		x.mu.Unlock()
		for _, what := range waiting {
			select {
			case <-ctx.Done():
				return nil
			case slots <- struct{}{}:
			}
			group.Go(func() {
				defer func() { <-slots }()
				x.disconnect(ctx, what)
			})
		}
	}
}

func (x *Disconnector) disconnect(ctx context.Context, what link.Disconnection) {
	before := what.Before
	for attempt := 1; ; attempt++ {
		if what.Before = before; attempt == 1 {
			// Clocks may differ: nobody who should go stays because of that.
			what.Before = time.Time{}
		}
		closed, err := x.directory.Disconnect(ctx, what)
		if closed > 0 {
			x.logger.InfoContext(ctx, "closed sessions", "status", int(what.Status), "sessions", closed)
		}
		if err == nil || ctx.Err() != nil {
			return
		}
		if attempt == disconnectAttempts {
			x.logger.WarnContext(ctx, "sessions could not be closed", "status", int(what.Status), "error", err)
			return
		}
		_ = sleep.For(ctx, disconnectPause)
	}
}
