// SPDX-License-Identifier: Apache-2.0

package message

import (
	"sync"
	"time"
)

// deliveredAge is for how long at least it is known that a message was delivered: longer than it takes a gateway to notice
// that an answer was lost.
const deliveredAge = 30 * time.Second

// delivered are the messages that this process has delivered lately, of those whose requests may come again.
type delivered struct {
	mu         sync.Mutex
	young, old map[int64]struct{}
	since      time.Time
}

// first notes a message and reports whether it was not known.
func (d *delivered) first(id int64, now time.Time) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.young == nil || now.Sub(d.since) > deliveredAge {
		d.old, d.young, d.since = d.young, map[int64]struct{}{}, now
	}
	_, isYoung := d.young[id]
	_, isOld := d.old[id]
	d.young[id] = struct{}{}
	return !isYoung && !isOld
}
