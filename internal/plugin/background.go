// SPDX-License-Identifier: Apache-2.0

package plugin

import "sync"

// Background is where a failure was of code that no call waits for, as in a timer or a thread of the plugin.
const Background = "background"

// An Unattended is a module with code that no call waits for.
type Unattended interface {
	// Background returns what takes note of the failures of such code.
	Background() *Failures
}

// Failures takes note of failures of code that no call waits for. A module that embeds it is Unattended. Its zero value is ready
// for use, and its methods are safe for concurrent use.
type Failures struct {
	mu   sync.Mutex
	last error
	tell func(error)
}

// Background implements Unattended.
func (f *Failures) Background() *Failures { return f }

// Note notes a failure. Until there is somebody to tell, the last one is kept.
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

// Tell has tell called for each failure from now on, and for the one that was kept. tell must not wait for the plugin.
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

// watchBackground puts failures of code that no call waits for into the records of all extensions: which of them has begun it is
// not known.
func watchBackground(p *Plugin) {
	if u, ok := p.module.(Unattended); ok {
		u.Background().Tell(func(err error) {
			for _, b := range p.members {
				b.record.fail(Background, err)
			}
		})
	}
}
