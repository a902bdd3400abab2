// SPDX-License-Identifier: Apache-2.0

package presence

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"example.org/app/internal/cluster"
	"example.org/app/internal/sleep"
)

// replacedEndpoint tells a gateway that sessions of its users may have been replaced. It goes to a
// named node.
var replacedEndpoint = cluster.Endpoint[replacedRequest, struct{}]{Name: "presence.replaced"}

type replacedRequest struct {
	UserIDs []int64 `json:"userIds"`
}

const (
	// hintAttempts is how often a hint to a gateway is tried, hintPause the time between.
	hintAttempts, hintPause = 3, time.Second
	// hintTimeout bounds one attempt.
	hintTimeout = 2 * time.Second
)

// hints tell gateways about sessions that others have replaced, because a gateway does not follow
// the keys of its users. Both the owner and the second of a partition send them. A gateway reads
// the key when it gets a hint, so hints may be wrong, late or duplicated.
type hints struct {
	directory *Directory
	wake      chan struct{}

	mu      sync.Mutex
	waiting map[string]map[int64]struct{}
}

func newHints(d *Directory) *hints {
	return &hints{directory: d, wake: make(chan struct{}, 1), waiting: map[string]map[int64]struct{}{}}
}

// note finds sessions that were replaced. It is called with the lock of a shard.
func (h *hints) note(before, after *record) {
	if before == nil || after == nil || h.directory.table.partitions.Load() == 1 {
		return
	}
	for i := range before.sessions {
		s := &before.sessions[i]
		if !s.gateway.own && s.gateway.live.Load() && !contains(after.sessions, s) && rival(after.sessions, s) != nil {
			h.mu.Lock()
			if h.waiting[s.NodeID] == nil {
				h.waiting[s.NodeID] = map[int64]struct{}{}
			}
			h.waiting[s.NodeID][s.UserID] = struct{}{}
			h.mu.Unlock()
			wake(h.wake)
		}
	}
}

// run sends hints until the directory stops.
func (h *hints) run() {
	ctx := h.directory.ctx
	var group sync.WaitGroup
	defer group.Wait()
	for {
		select {
		case <-ctx.Done():
			return
		case <-h.wake:
		}
		h.mu.Lock()
		waiting := h.waiting
		h.waiting = map[string]map[int64]struct{}{}
		h.mu.Unlock()
		for node, users := range waiting {
			group.Go(func() { h.tell(ctx, node, slices.Collect(maps.Keys(users))) })
		}
	}
}

// tell sends a hint. A gateway that cannot be reached compares its sessions sooner or later.
func (h *hints) tell(ctx context.Context, node string, users []int64) {
	for attempt := 1; ; attempt++ {
		try, cancel := context.WithTimeout(ctx, hintTimeout)
		_, err := cluster.CallNode(try, h.directory.node, node, replacedEndpoint, &replacedRequest{UserIDs: users})
		cancel()
		if err == nil || attempt == hintAttempts || !h.directory.alive(node) || sleep.For(ctx, hintPause) != nil {
			return
		}
	}
}

// replaced reads the keys of users whose sessions may have been replaced.
func (o *own) replaced(_ context.Context, req *replacedRequest) (*struct{}, error) {
	for _, userID := range req.UserIDs {
		if sessions, _ := o.of(userID); len(sessions) > 0 {
			o.mark(userID, true)
		}
	}
	return nil, nil
}

const (
	// compareLeast is how many own sessions a gateway compares per step with what the services
	// know; with more sessions, it compares all in compareRounds steps.
	compareLeast, compareRounds = 1000, 20
	// compareTimeout bounds a step.
	compareTimeout = 10 * time.Second
)

// compare compares some of the own sessions that are left in this round with what the services
// know, and reads the keys of those that they do not know. It returns the rest of the round. A
// gateway that may have missed news compares all.
func (v *verifier) compare(ctx context.Context, round []SessionKey) (rest []SessionKey) {
	own := v.registrar.own
	if v.table.partitions.Load() == 1 {
		return nil
	}
	all := own.doubtful.Swap(false)
	if all || len(round) == 0 {
		round = own.keys()
	}
	n := min(len(round), max(compareLeast, own.count()/compareRounds))
	if all {
		n = len(round)
	}
	ctx, cancel := context.WithTimeout(ctx, compareTimeout)
	defer cancel()
	for keys := range slices.Chunk(round[:n], 10*compareLeast) {
		users := make([]int64, len(keys))
		for i := range keys {
			users[i] = keys[i].UserID
		}
		entries, err := v.finder.Lookup(ctx, users)
		if err != nil {
			if all {
				own.doubtful.Store(true)
			}
			return round
		}
		for i, key := range keys {
			s, ok := entries[i].Session(key.Device)
			if ok && s.ID == key.ID && s.NodeID == own.gateway.id {
				continue
			}
			if v.registrar.owns(key) {
				own.mark(key.UserID, true)
			}
		}
	}
	return round[n:]
}
