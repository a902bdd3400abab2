// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"errors"
	"log/slog"
	"sync"
)

// Locations of failures that are not failures of calls.
const (
	// Background is the location of failures in code outside of calls, as in a timer or a thread of
	// the plugin; StorageFull is that of values that could not be stored.
	Background  = "background"
	StorageFull = "storage"
)

// An Unattended is a module that runs code outside of calls.
type Unattended interface {
	// Background returns the recorder of failures of such code.
	Background() *Failures
}

// A failure is an error with its location.
type failure struct {
	in  string
	err error
}

// Failures records failures of code outside of calls, and that the storage of the plugin is full. A
// module that embeds it is Unattended. Its zero value is ready for use, and its methods are safe
// for concurrent use.
type Failures struct {
	mu   sync.Mutex
	last *failure
	tell func(in string, err error)
	// full is true since the storage of the plugin was found to be full.
	full bool
}

// Background implements Unattended.
func (f *Failures) Background() *Failures { return f }

// Note records a failure. Without a listener, the last one is kept.
func (f *Failures) Note(err error) { f.note(Background, err) }

func (f *Failures) note(in string, err error) {
	f.mu.Lock()
	tell := f.tell
	if tell == nil {
		f.last = &failure{in, err}
	}
	f.mu.Unlock()
	if tell != nil {
		tell(in, err)
	}
}

// Stored records the result of storing a value of the plugin. To the plugin, a full storage is a
// refusal like any other, which it may pass on to its caller; so it is recorded, and the first one
// is logged.
func (f *Failures) Stored(log *slog.Logger, err error) {
	full := errors.Is(err, errStorageFull)
	if err != nil && !full {
		return
	}
	f.mu.Lock()
	begins := full && !f.full
	f.full = full
	f.mu.Unlock()
	if begins {
		log.Warn("the storage of a plugin is full", "error", err)
	}
	if full {
		f.note(StorageFull, err)
	}
}

// Tell sets the function that is called for each further failure, and for the one that was kept. It
// must not wait for the plugin.
func (f *Failures) Tell(tell func(in string, err error)) {
	f.mu.Lock()
	f.tell = tell
	last := f.last
	f.last = nil
	f.mu.Unlock()
	if last != nil {
		tell(last.in, last.err)
	}
}

// watchBackground adds failures outside of calls to the records of all extensions, because it is
// unknown which one started the code.
func watchBackground(p *Plugin) {
	if u, ok := p.module.(Unattended); ok {
		u.Background().Tell(func(in string, err error) {
			for _, b := range p.members {
				b.record.fail(in, err)
			}
		})
	}
}
