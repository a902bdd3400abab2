// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"errors"
	"slices"
	"sync"
	"time"
)

// A Waiting is a version of a plugin of this node that takes the place of the one that runs as soon as it is granted what
// it asks for.
type Waiting struct {
	Descriptor
	Digest  string
	Missing Grants
	Since   time.Time
}

// waitingVersions are the versions that wait.
type waitingVersions struct {
	mu   sync.Mutex
	list []waitingUpload
	// held are ids of plugins whose versions wait a little longer, as often as somebody wants that.
	held []string
}

// A waitingUpload are plugins that came together, of which at least one waits.
type waitingUpload struct {
	// plugins were discarded: they only tell what they are.
	plugins []*Plugin
	since   time.Time
	// again installs them.
	again func()
}

func (u waitingUpload) has(id string) bool {
	return slices.ContainsFunc(u.plugins, func(p *Plugin) bool { return p.ID == id })
}

// ready reports whether all of the plugins are granted what they ask for.
func (u waitingUpload) ready() bool {
	return !slices.ContainsFunc(u.plugins, func(p *Plugin) bool { return !p.Missing().IsEmpty() })
}

// Waiting returns the version that waits to take the place of the plugin with an id.
func (m *Manager) Waiting(id string) (Waiting, bool) {
	m.waiting.mu.Lock()
	defer m.waiting.mu.Unlock()
	for _, u := range m.waiting.list {
		for _, p := range u.plugins {
			if p.ID == id {
				return Waiting{p.Descriptor, p.Digest, p.Missing(), u.since}, true
			}
		}
	}
	return Waiting{}, false
}

// postpone keeps plugins that wait for grants until they have them, instead of earlier ones with their ids.
func (m *Manager) postpone(plugins []*Plugin, again func()) {
	for _, p := range plugins {
		m.forgetWaiting(p.ID)
		m.opts.Logger.Warn("a version of a plugin waits for a grant, and the one before it goes on", "plugin", p.ID, "version", p.Version, "missing", p.Missing().String())
	}
	m.waiting.mu.Lock()
	m.waiting.list = append(m.waiting.list, waitingUpload{plugins, time.Now().UTC().Truncate(time.Millisecond), again})
	m.waiting.mu.Unlock()
	m.resume() // They may have been granted meanwhile.
}

// HoldWaiting lets versions of plugins wait until release is called, whatever is granted meanwhile: a grant that comes with
// another version is not for them before that one was accepted, and is gone if it was not.
func (m *Manager) HoldWaiting(ids ...string) (release func()) {
	m.waiting.mu.Lock()
	defer m.waiting.mu.Unlock()
	m.waiting.held = append(m.waiting.held, ids...)
	return func() {
		m.waiting.mu.Lock()
		for _, id := range ids {
			i := slices.Index(m.waiting.held, id)
			m.waiting.held = slices.Delete(m.waiting.held, i, i+1)
		}
		m.waiting.mu.Unlock()
		m.resume()
	}
}

// resume installs what waits for nothing any more.
func (m *Manager) resume() {
	m.waiting.mu.Lock()
	defer m.waiting.mu.Unlock()
	m.waiting.list = slices.DeleteFunc(m.waiting.list, func(u waitingUpload) bool {
		ready := u.ready() && m.ctx.Err() == nil && !slices.ContainsFunc(m.waiting.held, u.has)
		if ready {
			m.tellers.Go(u.again)
		}
		return ready
	})
}

// forgetWaiting drops what waits to take the place of the plugin with an id, which is gone or has another version.
func (m *Manager) forgetWaiting(id string) {
	m.waiting.mu.Lock()
	defer m.waiting.mu.Unlock()
	m.waiting.list = slices.DeleteFunc(m.waiting.list, func(u waitingUpload) bool { return u.has(id) })
}

// waitsBehind reports whether the plugin cannot take the place of a version that runs before it is granted what it asks for.
func (p *Plugin) waitsBehind(old *Plugin) bool {
	return !p.Missing().IsEmpty() && slices.ContainsFunc(p.members, func(b *member) bool { return len(hooksTo(old.stateOf(b.Class()))) > 0 })
}

// onlyWaits reports whether plugins could not be installed only because some of them wait for grants.
func onlyWaits(errs []error) bool {
	waits := false
	for _, err := range errs {
		if err == nil {
			continue
		}
		if _, waits = errors.AsType[*WaitingError](err); !waits {
			return false
		}
	}
	return waits
}
