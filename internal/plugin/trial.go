// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"context"
	"fmt"
	"slices"

	"example.org/app/internal/apierr"
)

// Trials are the candidates: versions of plugins that run beside the active ones.
type Trials struct {
	m *Manager
	// splits maps plugin ids to candidates. It is guarded like the manager's list.
	splits map[string]*split
	// pastShadows maps plugin ids to the rests of ended shadows.
	pastShadows map[string]pastShadow
}

// Try loads another version of a plugin beside the active one, starts it, and switches calls that
// concern users of the split to it: it is the candidate. All other calls, endpoints, schedules and
// events stay with the plugin. On success it replaces another candidate, if there is one. If a
// candidate cannot run, its users get the plugin again. A shadow gets copies of the calls instead.
// Errors are *apierr.Error.
func (t *Trials) Try(ctx context.Context, l Language, src Source, s Split) (*Plugin, error) {
	p, err := t.prepare(ctx, l, src, s.Shadow)
	if err != nil {
		return nil, err
	}
	p.trial.Store(true)
	stable, ok := t.m.Find(p.ID)
	if !ok {
		t.m.hosts.discard(ctx, p)
		return nil, apierr.New(apierr.ResourceNotFound, "there is no plugin %q that a candidate could be tried beside", p.ID)
	}
	if err := t.m.admit(p, stable); err != nil {
		t.m.hosts.discard(ctx, p)
		return nil, err
	}
	for _, b := range p.members {
		if _, err := b.life.Do(ctx, Start); err != nil {
			t.m.retire(ctx, p)
			return nil, &apierr.Error{Code: apierr.IllegalArgument, Reason: fmt.Sprintf("start of extension %q failed: %v", b.Class(), err), Err: err}
		}
	}
	old, err := t.seat(p, s)
	if err != nil {
		t.m.retire(ctx, p)
		return nil, err
	}
	t.m.opts.Logger.Info("a version of a plugin is tried", "plugin", p.ID, "version", p.Version, "percentage", s.Percentage, "users", len(s.UserIDs), "shadow", s.Shadow)
	if old != nil {
		t.m.dismiss(ctx, old, func() {})
	}
	return p, nil
}

// prepare is prepare for a candidate. A shadow gets a host of its own, which is closed with it.
func (t *Trials) prepare(ctx context.Context, l Language, src Source, isShadow bool) (*Plugin, error) {
	if !isShadow || t.m.opts.ShadowHost == nil || !t.m.Runs(l) {
		p, err := t.m.prepare(ctx, l, src)
		if err == nil {
			p.shadow = isShadow
		}
		return p, err
	}
	host, err := t.m.opts.ShadowHost(l)
	if err != nil {
		return nil, err
	}
	p, err := t.m.prepareFor(ctx, host, src)
	if err != nil {
		t.m.hosts.closeHost(ctx, host, src.Name)
		return nil, err
	}
	p.shadow, p.host = true, host
	return p, nil
}

// seat switches calls to a candidate. old is the one that it replaces, nil if there is none.
func (t *Trials) seat(p *Plugin, s Split) (old *Plugin, err error) {
	t.m.mu.Lock()
	defer t.m.mu.Unlock()
	stable, ok := t.m.Find(p.ID)
	switch {
	case t.m.ctx.Err() != nil:
		return nil, errStopping()
	case !ok:
		return nil, apierr.New(apierr.ResourceNotFound, "plugin %q was removed meanwhile", p.ID)
	}
	if err := t.m.admit(p, stable); err != nil {
		return nil, err
	}
	old = t.withdraw(p.ID)
	next := newSplit(p, s)
	if s.Shadow {
		next.shadow = t.newShadow(p)
	}
	t.set(p.ID, next)
	t.m.publish(t.m.Plugins())
	t.m.Recovery.attend(p)
	return old, nil
}

// set sets the candidate of a plugin; nil means none. m.mu is held.
func (t *Trials) set(id string, s *split) {
	t.m.listMu.Lock()
	defer t.m.listMu.Unlock()
	if old := t.splits[id]; old != nil && old.shadow != nil && (s == nil || s.shadow != old.shadow) {
		old.shadow.cancel() // Nobody waits for its calls.
		t.remember(id, old.shadow)
	}
	if s == nil {
		delete(t.splits, id)
	} else {
		t.splits[id] = s
	}
}

// withdraw removes and returns the candidate of a plugin, or nil. m.mu is held; the caller
// publishes the list and retires the candidate.
func (t *Trials) withdraw(id string) *Plugin {
	s := t.splits[id]
	if s == nil {
		return nil
	}
	t.set(id, nil)
	return s.candidate
}

// Resplit changes the users of a candidate, which stays a shadow if it is one. Running calls end
// where they began. It reports false if there is no candidate.
func (t *Trials) Resplit(id string, s Split) bool {
	t.m.mu.Lock()
	defer t.m.mu.Unlock()
	old := t.splits[id]
	if old == nil || t.m.ctx.Err() != nil {
		return false
	}
	next := newSplit(old.candidate, s)
	next.Shadow, next.shadow = old.Shadow, old.shadow
	t.set(id, next)
	t.m.publish(t.m.Plugins())
	return true
}

// Find returns the candidate of a plugin and its users; ok is false if there is none.
func (t *Trials) Find(id string) (*Plugin, Split, bool) {
	t.m.listMu.RLock()
	defer t.m.listMu.RUnlock()
	if s := t.splits[id]; s != nil {
		return s.candidate, s.Split, true
	}
	return nil, Split{}, false
}

// End returns the users of a candidate to the plugin, lets its calls finish, stops and frees it. It
// does nothing if there is none.
func (t *Trials) End(ctx context.Context, id string) {
	t.m.mu.Lock()
	candidate := t.withdraw(id)
	if candidate == nil {
		t.m.mu.Unlock()
		return
	}
	t.m.publish(t.m.Plugins())
	t.m.mu.Unlock()
	t.m.dismiss(ctx, candidate, func() {})
	t.m.opts.Logger.Info("a version of a plugin is tried no more", "plugin", id, "version", candidate.Version)
}

// Promote replaces the plugin by its candidate; the plugin is stopped and freed when its calls have
// finished. It returns an error for a dead candidate and for a shadow, which lacks functions of the
// plugin. Errors are *apierr.Error.
func (t *Trials) Promote(ctx context.Context, id string) (*Plugin, error) {
	t.m.mu.Lock()
	stable, p, err := t.promote(id)
	t.m.mu.Unlock()
	if err != nil {
		return nil, err
	}
	t.m.opts.Logger.Info("a version of a plugin was promoted", "plugin", id, "version", p.Version, "before", stable.Version)
	t.m.dismiss(ctx, stable, func() { t.m.gone(stable, p) })
	return p, nil
}

// promote moves a candidate to the list. m.mu is held.
func (t *Trials) promote(id string) (stable, candidate *Plugin, err error) {
	s := t.splits[id]
	stable, ok := t.m.Find(id)
	if s == nil || !ok || t.m.ctx.Err() != nil {
		return nil, nil, apierr.New(apierr.ResourceNotFound, "plugin %q has no candidate", id)
	}
	if s.shadow != nil {
		return nil, nil, apierr.New(apierr.IllegalArgument, "the candidate of plugin %q is a shadow: load its version anew", id)
	}
	candidate = s.candidate
	if err := t.m.admit(candidate, stable); err != nil {
		return nil, nil, err
	}
	// From now on it is reloaded when it dies, unless it has already.
	if candidate.trial.Store(false); candidate.dead.Load() {
		candidate.trial.Store(true)
		return nil, nil, apierr.New(apierr.IllegalArgument, "the candidate of plugin %q died", id)
	}
	all := t.m.Plugins()
	all[slices.Index(all, stable)], candidate.rank = candidate, stable.rank
	t.set(id, nil)
	t.m.publish(all)
	return stable, candidate, nil
}
