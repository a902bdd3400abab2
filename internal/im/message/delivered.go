// SPDX-License-Identifier: Apache-2.0

package message

import (
	"sync"
	"time"
)

// deliveredAge is how long a delivery is remembered at least: longer than it takes a gateway to
// detect a lost response.
const deliveredAge = 30 * time.Second

// delivered are the messages that this process delivered recently, if their requests may be
// repeated.
type delivered struct {
	mu         sync.Mutex
	young, old map[int64]struct{}
	since      time.Time
}

// first records a message and reports whether it is new.
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
