// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"fmt"
	"sync"
)

// Granted is what administrators granted to plugins, by the ids of the plugins, as this process knows it. A nil *Granted
// grants every plugin what it asks for.
type Granted struct {
	mu   sync.RWMutex
	byID map[string]Grants
}

// Set replaces all that is known.
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

// Missing returns what a plugin asks for and was not granted.
func (g *Granted) Missing(d Descriptor) Grants {
	if g == nil {
		return Grants{}
	}
	return g.Of(d.ID).Missing(d.Requested)
}

// Allowed returns what a plugin may do: what it asks for, or nothing before all of that is granted.
func (g *Granted) Allowed(d Descriptor) Grants {
	if !g.Missing(d).IsEmpty() {
		return Grants{}
	}
	return d.Requested
}

// A WaitingError refuses to start an extension before an administrator grants what its plugin asks for.
type WaitingError struct {
	Plugin  string
	Missing Grants
}

func (e *WaitingError) Error() string {
	return fmt.Sprintf("plugin %q waits for a grant of %s: an administrator gives it with PUT /plugins/grants (app.plugin.grants.mode)", e.Plugin, e.Missing)
}

// Waits returns a WaitingError if a plugin asks for something that was not granted.
func (g *Granted) Waits(d Descriptor) error {
	if missing := g.Missing(d); !missing.IsEmpty() {
		return &WaitingError{d.ID, missing}
	}
	return nil
}

// mayRun refuses to start or resume an extension whose plugin waits for grants.
func (m *member) mayRun() error { return m.plugin.granted.Waits(m.plugin.Descriptor) }

// Regrant brings plugins in line with what is granted now: versions and extensions that wait for nothing any more are
// installed and started, and extensions that have lost a grant are called no more.
func (m *Manager) Regrant() {
	if m.opts.Granted == nil {
		return
	}
	for _, p := range m.withTrials() {
		missing := p.Missing()
		for _, b := range p.members {
			switch {
			case missing.IsEmpty() && b.waiting.CompareAndSwap(true, false):
				m.tellers.Go(func() { _, _ = m.Recovery.begin(m.ctx, b) }) // What fails is noted, logged and tried again.
			case !missing.IsEmpty() && b.started.Load() && !b.isDown():
				b.waiting.Store(true)
				m.Recovery.quarantine(b, (&WaitingError{p.ID, missing}).Error())
			}
		}
	}
	m.Waiting.resume()
}
