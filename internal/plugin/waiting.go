// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"errors"
	"log/slog"
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

// WaitingVersions are the versions that wait.
type WaitingVersions struct {
	*work
	logger *slog.Logger
	mu     sync.Mutex
	list   []waitingUpload
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

// Find returns the version that waits to take the place of the plugin with an id.
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

// postpone keeps plugins that wait for grants until they have them, instead of earlier ones with their ids.
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

// Hold lets versions of plugins wait until release is called, whatever is granted meanwhile: a grant that comes with
// another version is not for them before that one was accepted, and is gone if it was not.
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

// resume installs what waits for nothing any more.
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

// forget drops what waits to take the place of the plugin with an id, which is gone or has another version.
func (w *WaitingVersions) forget(id string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.list = slices.DeleteFunc(w.list, func(u waitingUpload) bool { return u.has(id) })
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
