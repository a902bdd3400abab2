// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"context"
	"fmt"
	"slices"

	"example.org/app/internal/apierr"
)

// Try loads another version of a plugin beside the one with the same id, starts it, and lets calls that concern users of
// the split come to it instead: it is the candidate. All other calls, endpoints, schedules and events stay with the plugin.
// Without an error it takes the place of another candidate, if there is one. A candidate that cannot run gives its users
// back to the plugin. One that is a shadow gets copies of the calls and takes nothing away. Errors are *apierr.Error.
func (m *Manager) Try(ctx context.Context, l Language, src Source, s Split) (*Plugin, error) {
	p, err := m.prepareTrial(ctx, l, src, s.Shadow)
	if err != nil {
		return nil, err
	}
	p.trial.Store(true)
	stable, ok := m.Find(p.ID)
	if !ok {
		m.discard(ctx, p)
		return nil, apierr.New(apierr.ResourceNotFound, "there is no plugin %q that a candidate could be tried beside", p.ID)
	}
	if err := m.admit(p, stable); err != nil {
		m.discard(ctx, p)
		return nil, err
	}
	for _, b := range p.members {
		if _, err := b.life.Do(ctx, Start); err != nil {
			m.retire(ctx, p)
			return nil, &apierr.Error{Code: apierr.IllegalArgument, Reason: fmt.Sprintf("start of extension %q failed: %v", b.Class(), err), Err: err}
		}
	}
	old, err := m.seatTrial(p, s)
	if err != nil {
		m.retire(ctx, p)
		return nil, err
	}
	m.opts.Logger.Info("a version of a plugin is tried", "plugin", p.ID, "version", p.Version, "percentage", s.Percentage, "users", len(s.UserIDs), "shadow", s.Shadow)
	if old != nil {
		m.dismiss(ctx, old, func() {})
	}
	return p, nil
}

// prepareTrial is prepare for a candidate. A shadow gets a host of its own, which is closed with it.
func (m *Manager) prepareTrial(ctx context.Context, l Language, src Source, isShadow bool) (*Plugin, error) {
	if !isShadow || m.opts.ShadowHost == nil || !m.Runs(l) {
		p, err := m.prepare(ctx, l, src)
		if err == nil {
			p.shadow = isShadow
		}
		return p, err
	}
	host, err := m.opts.ShadowHost(l)
	if err != nil {
		return nil, err
	}
	p, err := m.prepareFor(ctx, host, src)
	if err != nil {
		m.closeHost(ctx, host, src.Name)
		return nil, err
	}
	p.shadow, p.host = true, host
	return p, nil
}

// closeHost closes the host of a candidate.
func (m *Manager) closeHost(ctx context.Context, host Host, name string) {
	if err := host.Close(context.WithoutCancel(ctx)); err != nil {
		m.opts.Logger.Warn("the host of a candidate could not be closed", "plugin", name, "error", err)
	}
}

// seatTrial lets calls come to a candidate from now on. old is the one that it replaces, nil if there is none.
func (m *Manager) seatTrial(p *Plugin, s Split) (old *Plugin, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	stable, ok := m.Find(p.ID)
	switch {
	case m.ctx.Err() != nil:
		return nil, errStopping()
	case !ok:
		return nil, apierr.New(apierr.ResourceNotFound, "plugin %q was removed meanwhile", p.ID)
	}
	if err := m.admit(p, stable); err != nil {
		return nil, err
	}
	old = m.withdrawTrial(p.ID)
	next := newSplit(p, s)
	if s.Shadow {
		next.shadow = m.newShadow(p)
	}
	m.setTrial(p.ID, next)
	m.publish(m.Plugins())
	m.attend(p)
	return old, nil
}

// setTrial notes the candidate of a plugin; nil is none. m.mu is held.
func (m *Manager) setTrial(id string, s *split) {
	m.listMu.Lock()
	defer m.listMu.Unlock()
	if old := m.trials[id]; old != nil && old.shadow != nil && (s == nil || s.shadow != old.shadow) {
		old.shadow.cancel() // Nobody waits for its calls.
		m.remember(id, old.shadow)
	}
	if s == nil {
		delete(m.trials, id)
	} else {
		m.trials[id] = s
	}
}

// withdrawTrial forgets the candidate of a plugin and returns it; nil if there is none. m.mu is held; the caller publishes
// the list and retires the candidate.
func (m *Manager) withdrawTrial(id string) *Plugin {
	s := m.trials[id]
	if s == nil {
		return nil
	}
	m.setTrial(id, nil)
	return s.candidate
}

// Resplit changes the users of a candidate, which stays a shadow if it is one. Calls that are under way end where they began.
// It reports false if there is no candidate.
func (m *Manager) Resplit(id string, s Split) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	old := m.trials[id]
	if old == nil || m.ctx.Err() != nil {
		return false
	}
	next := newSplit(old.candidate, s)
	next.Shadow, next.shadow = old.Shadow, old.shadow
	m.setTrial(id, next)
	m.publish(m.Plugins())
	return true
}

// Trial returns the candidate of a plugin and its users; ok is false if there is none.
func (m *Manager) Trial(id string) (p *Plugin, s Split, ok bool) {
	m.listMu.RLock()
	defer m.listMu.RUnlock()
	if t := m.trials[id]; t != nil {
		return t.candidate, t.Split, true
	}
	return nil, Split{}, false
}

// EndTrial gives the users of a candidate back to the plugin, lets its calls finish, stops and frees it. It does nothing if
// there is none.
func (m *Manager) EndTrial(ctx context.Context, id string) {
	m.mu.Lock()
	candidate := m.withdrawTrial(id)
	if candidate == nil {
		m.mu.Unlock()
		return
	}
	m.publish(m.Plugins())
	m.mu.Unlock()
	m.dismiss(ctx, candidate, func() {})
	m.opts.Logger.Info("a version of a plugin is tried no more", "plugin", id, "version", candidate.Version)
}

// Promote lets a candidate take the place of its plugin, which is stopped and freed when its calls have finished. A
// candidate that died is refused, and a shadow, which could not do all that the plugin does. Errors are *apierr.Error.
func (m *Manager) Promote(ctx context.Context, id string) (*Plugin, error) {
	m.mu.Lock()
	stable, p, err := m.promote(id)
	m.mu.Unlock()
	if err != nil {
		return nil, err
	}
	m.opts.Logger.Info("a version of a plugin was promoted", "plugin", id, "version", p.Version, "before", stable.Version)
	m.dismiss(ctx, stable, func() { m.gone(stable, p) })
	return p, nil
}

// promote puts a candidate into the list. m.mu is held.
func (m *Manager) promote(id string) (stable, candidate *Plugin, err error) {
	s := m.trials[id]
	stable, ok := m.Find(id)
	if s == nil || !ok || m.ctx.Err() != nil {
		return nil, nil, apierr.New(apierr.ResourceNotFound, "plugin %q has no candidate", id)
	}
	if s.shadow != nil {
		return nil, nil, apierr.New(apierr.IllegalArgument, "the candidate of plugin %q is a shadow: load its version anew", id)
	}
	candidate = s.candidate
	if err := m.admit(candidate, stable); err != nil {
		return nil, nil, err
	}
	// From now on it is loaded anew when it dies, unless it has already.
	if candidate.trial.Store(false); candidate.dead.Load() {
		candidate.trial.Store(true)
		return nil, nil, apierr.New(apierr.IllegalArgument, "the candidate of plugin %q died", id)
	}
	all := m.Plugins()
	all[slices.Index(all, stable)], candidate.rank = candidate, stable.rank
	m.setTrial(id, nil)
	m.publish(all)
	return stable, candidate, nil
}

// withTrials returns what is loaded, and after that the candidates.
func (m *Manager) withTrials() []*Plugin {
	m.listMu.RLock()
	defer m.listMu.RUnlock()
	list := slices.Clone(m.list)
	for _, s := range m.trials {
		list = append(list, s.candidate)
	}
	return list
}
