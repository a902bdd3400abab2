// SPDX-License-Identifier: Apache-2.0

package event

import (
	"sync"
	"sync/atomic"
)

// A Reason is why the black box is kept.
type Reason string

// The reasons.
const (
	PluginQuarantined Reason = "plugin quarantined"
	JVMDied           Reason = "JVM died"
	NodeCallFailed    Reason = "node call failed"
	HealthCheckFailed Reason = "health check failed"
	Quit              Reason = "SIGQUIT"
)

// An Incident is something bad whose past somebody may want to see.
type Incident struct {
	Reason Reason
	// Detail names what it happened to. It is shown to administrators, so it must not hold texts of errors, which may hold
	// what users wrote.
	Detail string
}

var (
	watching   atomic.Int32
	watchersMu sync.RWMutex
	watchers   = map[*func(Incident)]struct{}{}
)

// Report tells those who watch of an incident. Without any it costs an atomic load.
func Report(i Incident) {
	if watching.Load() == 0 {
		return
	}
	watchersMu.RLock()
	defer watchersMu.RUnlock()
	for watch := range watchers {
		(*watch)(i)
	}
}

// Watch makes watch a receiver of incidents until cancel is called. It is called by many goroutines at once and must
// neither block nor call Watch or cancel.
func Watch(watch func(Incident)) (cancel func()) {
	watchersMu.Lock()
	defer watchersMu.Unlock()
	watchers[&watch] = struct{}{}
	watching.Add(1)
	return sync.OnceFunc(func() {
		watchersMu.Lock()
		defer watchersMu.Unlock()
		delete(watchers, &watch)
		watching.Add(-1)
	})
}
