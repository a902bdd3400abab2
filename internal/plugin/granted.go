// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"fmt"
	"sync"
)

// Granted contains the rights granted by administrators, by plugin id, as known to this process. A
// nil *Granted grants every plugin what it requests.
type Granted struct {
	mu   sync.RWMutex
	byID map[string]Grants
}

// Set replaces all grants.
func (g *Granted) Set(byID map[string]Grants) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.byID = byID
}

// Of returns what is granted to the plugin with an id.
func (g *Granted) Of(id string) Grants {
	g.mu.RLock()
	defer g.mu.RUnlock()
	return g.byID[id]
}

// Missing returns the requested rights that were not granted.
func (g *Granted) Missing(d Descriptor) Grants {
	if g == nil {
		return Grants{}
	}
	return g.Of(d.ID).Missing(d.Requested)
}

// Allowed returns the rights of a plugin: what it requests, or nothing until all of that is
// granted.
func (g *Granted) Allowed(d Descriptor) Grants {
	if !g.Missing(d).IsEmpty() {
		return Grants{}
	}
	return d.Requested
}

// A WaitingError means that an extension must not start until an administrator grants what its
// plugin requests.
type WaitingError struct {
	Plugin  string
	Missing Grants
}

func (e *WaitingError) Error() string {
	return fmt.Sprintf("plugin %q waits for a grant of %s: an administrator gives it with PUT /plugins/grants (app.plugin.grants.mode)", e.Plugin, e.Missing)
}

// Waits returns a WaitingError if requested rights of a plugin were not granted.
func (g *Granted) Waits(d Descriptor) error {
	if missing := g.Missing(d); !missing.IsEmpty() {
		return &WaitingError{d.ID, missing}
	}
	return nil
}

// mayRun returns an error if the extension's plugin waits for grants.
func (m *member) mayRun() error { return m.plugin.granted.Waits(m.plugin.Descriptor) }

// Regrant applies the current grants: versions and extensions with complete grants are installed
// and started, and extensions that lost a grant are no longer called.
func (m *Manager) Regrant() {
	if m.opts.Granted == nil {
		return
	}
	for _, p := range m.withTrials() {
		missing := p.Missing()
		for _, b := range p.members {
			switch {
			case missing.IsEmpty() && b.waiting.CompareAndSwap(true, false):
				m.tellers.Go(func() { _, _ = m.Recovery.begin(m.ctx, b) }) // Failures are recorded, logged and retried.
			case !missing.IsEmpty() && b.started.Load() && !b.isDown():
				b.waiting.Store(true)
				m.Recovery.quarantine(b, (&WaitingError{p.ID, missing}).Error())
			}
		}
	}
	m.Waiting.resume()
}
