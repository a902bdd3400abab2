// SPDX-License-Identifier: Apache-2.0

package gateway

import (
	"sync"
	"time"
)

// stallTime is the shortest time without contact to services that counts as a stall. During a
// shorter one, services retry deliveries, and what they delivered before is remembered.
const stallTime = 3 * time.Second

// stalls tracks when services could not reach the gateway, because its process was paused, as by
// SIGSTOP, a debugger or the hypervisor, or had no connection to the cluster. It is told the time
// every sweepInterval, unless there is no connection.
type stalls struct {
	mu   sync.Mutex
	seen time.Time
	end  time.Time
}

// note records that the process runs and is connected.
func (s *stalls) note(now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.seen.IsZero() && now.Sub(s.seen) >= stallTime {
		s.end = now
	}
	s.seen = now
}

// ended returns when the last stall ended; zero if there was none.
func (s *stalls) ended() time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.end
}
