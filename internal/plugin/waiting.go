// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"errors"
	"log/slog"
	"slices"
	"sync"
	"time"
)

// A Waiting is a version of a node's plugin that replaces the running one once its grants are
// complete.
type Waiting struct {
	Descriptor
	Digest  string
	Missing Grants
	Since   time.Time
}

// WaitingVersions are the waiting versions.
type WaitingVersions struct {
	*work
	logger *slog.Logger
	mu     sync.Mutex
	list   []waitingUpload
	// held are ids of plugins whose versions are held back, once for each holder.
	held []string
}

// A waitingUpload are plugins uploaded together, of which at least one waits.
type waitingUpload struct {
	// plugins are unloaded and only describe themselves.
	plugins []*Plugin
	since   time.Time
	// again installs them.
	again func()
}

func (u waitingUpload) has(id string) bool {
	return slices.ContainsFunc(u.plugins, func(p *Plugin) bool { return p.ID == id })
}

// ready reports whether all of the plugins have their grants.
func (u waitingUpload) ready() bool {
	return !slices.ContainsFunc(u.plugins, func(p *Plugin) bool { return !p.Missing().IsEmpty() })
}

// Find returns the version that waits to replace the plugin with an id.
func (w *WaitingVersions) Find(id string) (Waiting, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, u := range w.list {
		for _, p := range u.plugins {
			if p.ID == id {
				return Waiting{p.Descriptor, p.Digest, p.Missing(), u.since}, true
			}
		}
	}
	return Waiting{}, false
}

// postpone keeps plugins until their grants are complete, instead of earlier waiting ones with
// their ids.
func (w *WaitingVersions) postpone(plugins []*Plugin, again func()) {
	for _, p := range plugins {
		w.forget(p.ID)
		w.logger.Warn("a version of a plugin waits for a grant, and the one before it goes on", "plugin", p.ID, "version", p.Version, "missing", p.Missing().String())
	}
	w.mu.Lock()
	w.list = append(w.list, waitingUpload{plugins, time.Now().UTC().Truncate(time.Millisecond), again})
	w.mu.Unlock()
	w.resume() // They may have been granted meanwhile.
}

// Hold holds waiting versions back until release is called, whatever is granted meanwhile: a grant
// uploaded with another version does not apply to them before that one was accepted, and is revoked
// if it was not.
func (w *WaitingVersions) Hold(ids ...string) (release func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.held = append(w.held, ids...)
	return func() {
		w.mu.Lock()
		for _, id := range ids {
			i := slices.Index(w.held, id)
			w.held = slices.Delete(w.held, i, i+1)
		}
		w.mu.Unlock()
		w.resume()
	}
}

// resume installs versions whose grants are complete.
func (w *WaitingVersions) resume() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.list = slices.DeleteFunc(w.list, func(u waitingUpload) bool {
		ready := u.ready() && w.ctx.Err() == nil && !slices.ContainsFunc(w.held, u.has)
		if ready {
			w.tellers.Go(u.again)
		}
		return ready
	})
}

// forget drops the version that waits to replace a plugin that was removed or replaced.
func (w *WaitingVersions) forget(id string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.list = slices.DeleteFunc(w.list, func(u waitingUpload) bool { return u.has(id) })
}

// waitsBehind reports whether the plugin cannot replace a running version until its grants are
// complete.
func (p *Plugin) waitsBehind(old *Plugin) bool {
	return !p.Missing().IsEmpty() && slices.ContainsFunc(p.members, func(b *member) bool { return len(hooksTo(old.stateOf(b.Class()))) > 0 })
}

// onlyWaits reports whether plugins could not be installed only because some of them wait for
// grants.
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
