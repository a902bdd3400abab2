// SPDX-License-Identifier: Apache-2.0

package event

import (
	"sync"
	"sync/atomic"
)

// A Reason is why the black box is copied.
type Reason string

// The reasons.
const (
	PluginQuarantined Reason = "plugin quarantined"
	JVMDied           Reason = "JVM died"
	NodeCallFailed    Reason = "node call failed"
	HealthCheckFailed Reason = "health check failed"
	Quit              Reason = "SIGQUIT"
)

// An Incident is a problem whose history may be of interest.
type Incident struct {
	Reason Reason
	// Detail names what is affected. It is shown to administrators, so it must not contain texts of
	// errors, which may contain users' data.
	Detail string
}

var (
	watching   atomic.Int32
	watchersMu sync.RWMutex
	watchers   = map[*func(Incident)]struct{}{}
)

// Report passes an incident to the watchers. Without any it costs an atomic load.
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

// Watch makes watch a receiver of incidents until cancel is called. It is called concurrently and
// must neither block nor call Watch or cancel.
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
