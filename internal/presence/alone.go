// SPDX-License-Identifier: Apache-2.0

package presence

// aloneEpoch is the epoch of a process that is alone, whose directory never gets another one.
const aloneEpoch = 1

// change is the change function of a Directory in a process that is alone. It compares and sets in
// the table.
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

// swap replaces a record if it is still the one before. A record without sessions is removed: no
// later news can restore them.
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
