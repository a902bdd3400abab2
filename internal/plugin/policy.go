// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"example.org/app/internal/config"
)

// consider pauses an extension that fails again and again, if the settings say so. One that is dead is loaded anew.
func (m *Manager) consider(b *member, inARow int64, err error) {
	if errors.Is(err, ErrDead) {
		m.revive(b.plugin, err)
		return
	}
	q := m.opts.Settings().Quarantine
	if !q.Enabled || inARow != int64(q.Failures) {
		return
	}
	why := fmt.Sprintf("paused after %d failures in a row, the last: %v", inARow, err)
	b.record.quarantine(why)
	b.logger.Warn("extension paused because it fails again and again", "failures", inARow, "error", err)
	m.tellers.Go(func() { _, _ = b.life.Do(context.Background(), Pause) })
}

// Quarantine pauses the extensions of a plugin that can do nothing, and keeps the reason. Without a class it is all of
// them. Those that are not started are left as they are.
func (m *Manager) Quarantine(id, class, why string) {
	p, ok := m.Find(id)
	if !ok {
		return
	}
	for _, b := range p.members {
		if class != "" && class != b.Class() {
			continue
		}
		b.record.fail("host", errors.New(why))
		if s := b.life.State(); s != Started && s != Paused {
			continue
		}
		b.record.quarantine(why)
		b.logger.Warn("extension paused because its host cannot run it", "reason", why)
		m.tellers.Go(func() { _, _ = b.life.Do(context.Background(), Pause) })
	}
}

// limitOf is the time limit of a call.
func (m *Manager) limitOf(method *Method) time.Duration {
	s := m.opts.Settings()
	return time.Duration(cmp.Or(settingsOf(&s, method.Point).TimeoutMillis, s.CallTimeoutMillis)) * time.Millisecond
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
