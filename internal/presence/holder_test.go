// SPDX-License-Identifier: Apache-2.0

package presence

import (
	"slices"
	"sync"
	"time"

	"example.org/app/internal/wire"
)

// A holder records the calls of a gateway. It claims to have all sessions with a positive id, and
// those of extra.
type holder struct {
	mu                 sync.Mutex
	lost, stray, extra []SessionKey
}

func (h *holder) Each(fn func(SessionKey) bool) {
	h.mu.Lock()
	extra := slices.Clone(h.extra)
	h.mu.Unlock()
	for _, key := range extra {
		if !fn(key) {
			return
		}
	}
}

func (h *holder) Stray(key SessionKey) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.stray = append(h.stray, key)
	h.extra = slices.DeleteFunc(h.extra, func(other SessionKey) bool { return other == key })
}

func (h *holder) Lost(userID int64, device wire.DeviceType, sessionID int32) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.lost = append(h.lost, SessionKey{userID, device, sessionID})
}

func (h *holder) Activity(userID int64, _ wire.DeviceType, sessionID int32) (Activity, bool) {
	return Activity{LastHeartbeat: time.UnixMilli(userID), LastRequest: time.UnixMilli(int64(sessionID))}, sessionID > 0
}

func (h *holder) has(key SessionKey) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Contains(h.lost, key)
}

// hold makes the gateway claim a session.
func (h *holder) hold(key SessionKey) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.extra = append(h.extra, key)
}
