// SPDX-License-Identifier: Apache-2.0

package group

import (
	lru "container/list"
	"context"
	"sync"
	"time"

	"example.org/app/internal/store"
)

const (
	// maxRoster is the maximum number of members of a cached group.
	maxRoster = 20_000
	// maxRosters bounds the cached members of all groups: 8 MB of ids.
	maxRosters = 1_000_000
)

// rosters caches the members of recently used groups. A roster is valid for one version of the
// members, which every change on any node increments in its transaction.
type rosters struct {
	mu     sync.Mutex
	byID   map[int64]*lru.Element
	recent *lru.List // of roster, the most recently used first
	size   int
}

type roster struct {
	groupID int64
	version time.Time
	members []int64
}

// cost returns the share of maxRosters that a roster uses, including overhead.
func (r roster) cost() int { return len(r.members) + 16 }

func newRosters() *rosters {
	return &rosters{byID: map[int64]*lru.Element{}, recent: lru.New()}
}

func (c *rosters) get(groupID int64, version time.Time) ([]int64, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	found, ok := c.byID[groupID]
	if !ok || !found.Value.(roster).version.Equal(version) {
		return nil, false
	}
	c.recent.MoveToFront(found)
	return found.Value.(roster).members, true
}

func (c *rosters) put(r roster) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if old, ok := c.byID[r.groupID]; ok {
		if old.Value.(roster).version.After(r.version) {
			return
		}
		c.remove(old)
	}
	c.byID[r.groupID] = c.recent.PushFront(r)
	c.size += r.cost()
	for c.size > maxRosters {
		c.remove(c.recent.Back())
	}
}

func (c *rosters) remove(element *lru.Element) {
	gone := c.recent.Remove(element).(roster)
	delete(c.byID, gone.groupID)
	c.size -= gone.cost()
}

// Roster returns the members of a group in ascending order, read only; ok is false if there are too
// many to be cached. While nobody joins or leaves, it only reads one version.
func (m *Members) Roster(ctx context.Context, r store.Reader, groupID int64) (members []int64, ok bool, err error) {
	// Read the version first: after a concurrent change the cache looks too old, never too new.
	version, err := versionOfGroup(store.GroupMembers, groupID)(ctx, r)
	if err != nil {
		return nil, false, err
	}
	if version != nil {
		if members, ok := m.rosters.get(groupID, *version); ok {
			return members, true, nil
		}
	}
	members, err = store.GroupMemberIDsAfter(ctx, r, groupID, nil, maxRoster+1)
	if err != nil || len(members) > maxRoster {
		return nil, false, err
	}
	if version != nil {
		m.rosters.put(roster{groupID, *version, members})
	}
	return members, true, nil
}
