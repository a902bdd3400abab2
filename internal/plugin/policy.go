// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"cmp"
	"errors"
	"fmt"
	"time"

	"example.org/app/internal/config"
	"example.org/app/internal/recording/event"
	"example.org/app/internal/sleep"
)

// consider takes an extension out of service that fails repeatedly, if the settings say so. One that is dead is
// loaded anew.
func (m *Manager) consider(b *member, inARow int64, err error) {
	if errors.Is(err, ErrDead) {
		m.revive(b.plugin, err)
		return
	}
	q := m.opts.Settings().Quarantine
	if !q.Enabled || inARow != int64(q.Failures) {
		return
	}
	m.quarantine(b, fmt.Sprintf("quarantined after %d failures in a row, the last: %v", inARow, err))
}

// quarantine lets the calls of an extension fail until somebody resumes it.
func (m *Manager) quarantine(b *member, why string) {
	b.record.quarantine(why)
	b.logger.Warn("extension cannot run; calls of it fail", "reason", why)
	event.Report(event.Incident{Reason: event.PluginQuarantined, Detail: b.plugin.ID + " " + b.Class()})
}

// Quarantine takes the extensions of a plugin out of service that their host cannot run, and keeps the reason: calls of
// them fail as their extension points say. Without a class it is all extensions. Those that are not started are left as
// they are. With again they are started anew, with back-off, until that succeeds; else somebody must resume them.
func (m *Manager) Quarantine(id, class, why string, again bool) {
	if p, ok := m.Find(id); ok {
		m.quarantineIn(p, class, why, again)
	}
}

// QuarantineModule is Quarantine of the plugin that a module is, which may be a candidate.
func (m *Manager) QuarantineModule(module Module, class, why string, again bool) {
	for _, p := range m.withTrials() {
		if p.module == module {
			m.quarantineIn(p, class, why, again)
		}
	}
}

func (m *Manager) quarantineIn(p *Plugin, class, why string, again bool) {
	for _, b := range p.members {
		if class != "" && class != b.Class() {
			continue
		}
		b.record.fail("host", errors.New(why))
		switch b.life.State() {
		case Started:
			b.broken.Store(true)
			m.quarantine(b, why)
			if again {
				m.retry(b)
			}
		case Paused:
			b.broken.Store(true)
		}
	}
}

// startFailed notes that an extension should run and could not be started, and tries again.
func (m *Manager) startFailed(b *member, err error) {
	m.quarantine(b, fmt.Sprintf("start failed: %v", err))
	m.retry(b)
}

// retry starts an extension that cannot run until that succeeds, or nobody wants it any more.
func (m *Manager) retry(b *member) {
	if !b.retrying.CompareAndSwap(false, true) {
		return
	}
	m.tellers.Go(func() {
		defer b.retrying.Store(false)
		for n := 0; m.sleep(retryDelay(n)); n++ {
			if !b.isDown() || b.calls.isClosed() {
				return
			}
			if _, err := b.life.Do(m.ctx, Start); err == nil {
				return
			} else if b.isDown() {
				m.quarantine(b, fmt.Sprintf("start failed %d times: %v", n+2, err))
			}
		}
	})
}

// retryDelay is how long to wait after the nth attempt.
func retryDelay(n int) time.Duration { return min(time.Second<<min(n, 10), time.Minute) }

// sleep reports false if the manager was closed meanwhile.
func (m *Manager) sleep(d time.Duration) bool { return sleep.For(m.ctx, d) == nil }

// bounds are those of a call.
type bounds struct {
	// time is how long it may take.
	time time.Duration
	// calls is how many of the plugin may be under way at once; 0 is any number.
	calls int64
}

// boundsOf are the bounds of a call.
func (m *Manager) boundsOf(method *Method) bounds {
	s := m.opts.Settings()
	return bounds{
		time:  time.Duration(cmp.Or(settingsOf(&s, method.Point).TimeoutMillis, s.CallTimeoutMillis)) * time.Millisecond,
		calls: int64(s.Limits.ConcurrentCalls),
	}
}

// failureOf is what a failure of a call means.
func (m *Manager) failureOf(method *Method) Failure {
	s := m.opts.Settings()
	switch settingsOf(&s, method.Point).OnFailure {
	case config.FailureRefuse:
		return Refuse
	case config.FailureIgnore:
		return Ignore
	}
	return method.Failure
}

// settingsOf are the settings of a point.
func settingsOf(s *config.Plugin, p *Point) config.ExtensionPoint {
	if p.settings == nil {
		return config.ExtensionPoint{}
	}
	return p.settings(s.ExtensionPoints)
}
