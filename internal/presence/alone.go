// SPDX-License-Identifier: Apache-2.0

package presence

// aloneEpoch is that of a process that is alone, whose picture has one life.
const aloneEpoch = 1

// change is that of a Directory in a process that is alone: the compare-and-set is one of the table.
func (t *table) change(userID int64, fn func(current content, live []Session, at place) (*content, error)) (place, error) {
	for {
		before := t.get(userID)
		current, at := content{}, place{epoch: aloneEpoch}
		if before != nil {
			current, at = before.content, before.place()
		}
		next, err := fn(current, current.sessions, at)
		if err != nil || next == nil {
			return place{}, err
		}
		if revision, ok := t.swap(userID, before, *next, aloneEpoch); ok {
			return place{aloneEpoch, revision}, nil
		}
	}
}

// swap replaces a record unless it is not the one before any more. One without sessions is removed: no news can bring them back.
func (t *table) swap(userID int64, before *record, c content, epoch uint64) (revision uint64, ok bool) {
	s := t.shard(userID)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.records[userID] != before {
		return 0, false
	}
	revision = t.followed[0].Add(1)
	var after *record
	if len(c.sessions) > 0 {
		after = &record{content: c, revision: revision, epoch: epoch}
	}
	t.replace(s, userID, before, after)
	return revision, true
}
