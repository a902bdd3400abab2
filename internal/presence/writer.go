// SPDX-License-Identifier: Apache-2.0

package presence

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"example.org/app/internal/cluster"
	"example.org/app/internal/sleep"
	"example.org/app/internal/wire"
)

// maxConflicts bounds the retries of a change that conflicts with others.
const maxConflicts = 50

// A writer changes the keys of users by compare-and-set, together with this process's table.
type writer struct {
	cluster  *cluster.Cluster
	table    *table
	gateways *gateways
	current  *current
	// alone is true if there is no bucket: the table is the truth.
	alone bool
}

// update changes the entry of an online user. If this node knows no session, it reads the key,
// because news may be missing.
func (w *writer) update(ctx context.Context, userID int64, fn func(current content) (next *content, online bool)) (online bool, err error) {
	for _, fresh := range []bool{false, true} {
		if !fresh && !w.table.watches(userID) {
			continue
		}
		_, err = w.change(ctx, userID, fresh, func(current content, _ []Session, _ place) (next *content, err error) {
			next, online = fn(current)
			return next, nil
		})
		if err != nil || online {
			return online, err
		}
	}
	return false, nil
}

// A place is where an entry was written: the epoch of the bucket and the revision.
type place struct{ epoch, revision uint64 }

// before reports whether p is older than q.
func (p place) before(q place) bool {
	return p.epoch < q.epoch || p.epoch == q.epoch && p.revision < q.revision
}

const (
	// electionTime is how long the servers of NATS may take to elect a leader of the bucket after
	// losing one, with a margin: they wait for 4 to 9 seconds first. Operations get no response
	// meanwhile.
	electionTime = 15 * time.Second
	// attemptTime is the time after which an operation without response is retried, because its
	// server is gone.
	attemptTime = 2 * time.Second
)

// change replaces the content of a user's key by the result of fn; nil leaves it unchanged. fn gets
// the sessions of the key without those of dead gateways, all known live sessions, which may be
// more while gateways announce theirs to a new bucket, and where the key was written. It is called
// again after a conflict, and after a missing response: then its earlier result may have been
// written. With fresh the key is read first. change returns where it wrote the key.
func (w *writer) change(
	ctx context.Context, userID int64, fresh bool, fn func(current content, live []Session, at place) (*content, error),
) (place, error) {
	if w.alone {
		return w.table.change(userID, fn)
	}
	patience, attempt := operationTimeout, 2*operationTimeout
	elect := w.cluster.Replicas() > 1
	if elect {
		patience, attempt = electionTime, attemptTime
	}
	end := time.Now().Add(patience)
	for conflicts := 0; ; fresh = true {
		wait, cancel := context.WithDeadline(ctx, end)
		b, err := w.current.await(wait)
		cancel()
		if err != nil {
			return place{}, err
		}
		try, cancel := context.WithTimeout(ctx, attempt)
		at, failure, err := w.tryChange(try, b, userID, fresh, fn)
		cancel()
		if failure == nil {
			return at, err
		}
		if gone(failure) {
			w.current.reopen()
		}
		delay := electionPause
		if errors.Is(failure, errConflict) {
			delay = conflictPause(conflicts)
			conflicts++
		} else if !elect || time.Now().After(end) {
			return place{}, unavailable(failure)
		}
		if conflicts >= maxConflicts {
			return place{}, unavailable(failure)
		}
		if err := sleep.For(ctx, delay); err != nil {
			return place{}, unavailable(err)
		}
	}
}

// tryChange is one attempt of change. failure is the error of the bucket, err that of fn.
func (w *writer) tryChange(
	ctx context.Context, b *bucket, userID int64, fresh bool, fn func(current content, live []Session, at place) (*content, error),
) (at place, failure, err error) {
	r := w.table.get(userID)
	if fresh {
		if r, failure = w.read(ctx, b, userID); failure != nil {
			return place{}, failure, nil
		}
	}
	var current content
	var revision uint64
	if r != nil {
		current.status = r.status
	}
	if r != nil && r.epoch == b.epoch {
		revision = r.revision
		current.sessions = withoutDead(r.sessions)
	}
	next, err := fn(current, w.table.live(r), place{b.epoch, revision})
	if err != nil || next == nil {
		if !fresh && !w.table.watches(userID) {
			// Others may have written the key since. A write verifies that; this case must be
			// retried.
			return place{}, errConflict, nil
		}
		return place{}, nil, err
	}
	if len(next.sessions) == 0 {
		if r == nil || r.epoch != b.epoch || len(r.sessions) == 0 {
			return place{}, nil, nil
		}
		revision, failure = b.remove(ctx, b.keyOf(userID), revision)
	} else {
		revision, failure = b.put(ctx, b.keyOf(userID), next.encode(), revision)
	}
	if failure != nil {
		return place{}, failure, nil
	}
	w.table.wrote(userID, *next, revision, b.epoch)
	return place{b.epoch, revision}, nil, nil
}

// withoutDead returns the sessions whose gateways are not dead.
func withoutDead(sessions []Session) []Session {
	rest := make([]Session, 0, len(sessions)+1)
	for i := range sessions {
		if !sessions[i].gateway.dead.Load() {
			rest = append(rest, sessions[i])
		}
	}
	return rest
}

// read returns the user's record in the bucket, with the revision of the marker if the key was
// removed.
func (w *writer) read(ctx context.Context, b *bucket, userID int64) (*record, error) {
	before := w.table.get(userID)
	value, revision, err := b.read(ctx, b.keyOf(userID))
	if err != nil {
		return nil, err
	}
	var c content
	if value != nil {
		if c, err = decode(userID, value, w.gateways.intern); err != nil {
			return nil, fmt.Errorf("decode the entry of user %d: %w", userID, err)
		}
	}
	now := w.table.get(userID)
	if now != before && now != nil && now.epoch == b.epoch && now.revision > revision {
		return now, nil // News arrived meanwhile.
	}
	return w.table.merge(now, c, revision, b.epoch), nil
}

// electionPause is the pause before servers that are in an election are asked again.
const electionPause = 200 * time.Millisecond

// conflictPause returns a random pause, so that competitors for a key do not retry in step.
func conflictPause(conflicts int) time.Duration {
	if conflicts < 2 {
		return 0
	}
	return rand.N(time.Duration(min(conflicts, 20)) * time.Millisecond)
}

func entryOf(userID int64, status wire.UserStatus, live []Session) Entry {
	if len(live) == 0 {
		status = wire.UserStatus_OFFLINE
	}
	return Entry{UserID: userID, Status: status, Sessions: live}
}

// without returns the content without some sessions, or nil if there are none of them.
func without(c content, gone func(*Session) bool) *content {
	next := content{status: c.status}
	for i := range c.sessions {
		if !gone(&c.sessions[i]) {
			next.sessions = append(next.sessions, c.sessions[i])
		}
	}
	if len(next.sessions) == len(c.sessions) {
		return nil
	}
	return &next
}
