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
	// disconnectBatch is the maximum number of users or addresses in one call.
	disconnectBatch = 10_000
	// disconnectAttempts is how often a Disconnector tries to close sessions.
	disconnectAttempts = 3
	// disconnectPause is the time between attempts.
	disconnectPause = time.Second
	// skew is the tolerated difference between the clocks of two nodes: a login within that time
	// after the cause of a repeated request may be disconnected too.
	skew = 250 * time.Millisecond
	// disconnecting bounds the concurrent calls of a Disconnector.
	disconnecting = 16
)

// Disconnect closes sessions at all gateways. It asks every gateway, because one may hold a session
// that this node does not know yet. It returns how many were closed, even if some gateways failed.
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

// alive reports whether the node is still a member. If not, its sessions are gone.
func (d *Directory) alive(nodeID string) bool {
	_, ok := d.node.Cluster().Member(nodeID)
	return ok
}

// pieces splits the request into requests of bounded size.
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

// A Disconnector closes sessions in the background.
type Disconnector struct {
	directory *Directory
	logger    *slog.Logger
	wake      chan struct{}

	mu      sync.Mutex
	waiting []link.Disconnection
}

// NewDisconnector returns a disconnector, which works while Run runs.
func NewDisconnector(d *Directory, logger *slog.Logger) *Disconnector {
	return &Disconnector{directory: d, logger: logger, wake: make(chan struct{}, 1)}
}

// Later queues sessions to be closed and returns at once. Retries spare sessions whose login began
// after this call.
func (x *Disconnector) Later(what link.Disconnection) {
	if what.Before.IsZero() {
		what.Before = x.directory.node.Cluster().Now().Add(skew)
	}
	x.mu.Lock()
	x.waiting = append(x.waiting, what)
	x.mu.Unlock()
	wake(x.wake)
}

// Run closes queued sessions until ctx ends and drops the rest: users who must not be online are
// refused at the next login.
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
			// Clocks may differ; that must not save a session.
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
