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
	// maxRoster is how many members a group may have for them to be kept.
	maxRoster = 20_000
	// maxRosters bounds how many members of all groups are kept together: 8 MB of ids.
	maxRosters = 1_000_000
)

// rosters keeps the members of the groups that were asked for last. A roster is
// valid for one version of the members, which every change of them raises in its
// transaction, on whatever node.
type rosters struct {
	mu     sync.Mutex
	byID   map[int64]*lru.Element
	recent *lru.List // of roster, the one used last first
	size   int
}

type roster struct {
	groupID int64
	version time.Time
	members []int64
}

// cost is what a roster takes of maxRosters. One of a small group is not free.
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

// Roster returns the members of a group in ascending order, which must not be
// changed, or false for a group that has too many to be kept. While nobody joins
// or leaves, it takes the reading of one version.
func (m *Members) Roster(ctx context.Context, r store.Reader, groupID int64) (members []int64, ok bool, err error) {
	// The version is read first: a change in between makes what is kept look too old,
	// never too new.
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
