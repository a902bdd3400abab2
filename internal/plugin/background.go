// SPDX-License-Identifier: Apache-2.0

package plugin

import "sync"

// Background is the location of failures in code outside of calls, as in a timer or a thread of the
// plugin.
const Background = "background"

// An Unattended is a module that runs code outside of calls.
type Unattended interface {
	// Background returns the recorder of failures of such code.
	Background() *Failures
}

// Failures records failures of code outside of calls. A module that embeds it is Unattended. Its
// zero value is ready for use, and its methods are safe for concurrent use.
type Failures struct {
	mu   sync.Mutex
	last error
	tell func(error)
}

// Background implements Unattended.
func (f *Failures) Background() *Failures { return f }

// Note records a failure. Without a listener, the last one is kept.
func (f *Failures) Note(err error) {
	f.mu.Lock()
	tell := f.tell
	if tell == nil {
		f.last = err
	}
	f.mu.Unlock()
	if tell != nil {
		tell(err)
	}
}

// Tell sets the function that is called for each further failure, and for the one that was kept. It
// must not wait for the plugin.
func (f *Failures) Tell(tell func(error)) {
	f.mu.Lock()
	f.tell = tell
	last := f.last
	f.last = nil
	f.mu.Unlock()
	if last != nil {
		tell(last)
	}
}

// watchBackground adds failures outside of calls to the records of all extensions, because it is
// unknown which one started the code.
func watchBackground(p *Plugin) {
	if u, ok := p.module.(Unattended); ok {
		u.Background().Tell(func(err error) {
			for _, b := range p.members {
				b.record.fail(Background, err)
			}
		})
	}
}
