// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"example.org/app/internal/apierr"
	"example.org/app/internal/role"
)

// Load loads a plugin, which is not started by that. Errors are *apierr.Error. What it returns with an error cannot be used.
func (m *Manager) Load(ctx context.Context, l Language, src Source) (*Plugin, error) {
	return m.install(ctx, l, src, false, nil)
}

// Replace loads a new version of a plugin and lets it take the place of the one with the same id, in its state, without
// a call lost: the new one is started first, then calls go to it, then the old one is stopped. If the new one cannot be
// loaded or started, the old one stays. Without an old one it is Load. What it returns with an error only tells what it is;
// it is nil if that is not known.
func (m *Manager) Replace(ctx context.Context, l Language, src Source) (*Plugin, error) {
	return m.install(ctx, l, src, true, nil)
}

// Check loads a plugin as Load and Replace do, runs no hook, and forgets it again. What it returns cannot be called. It
// is there even with an error if the plugin itself is sound and only does not get along with others.
func (m *Manager) Check(ctx context.Context, l Language, src Source, replace bool) (_ *Plugin, err error) {
	host, err := m.hosts.of(l)
	if err != nil {
		return nil, err
	}
	if m.opts.DryHost != nil {
		if host, err = m.opts.DryHost(l); err != nil {
			return nil, err
		}
		defer func() { err = errors.Join(err, host.Close(context.WithoutCancel(ctx))) }()
	}
	return m.examine(ctx, host, src, replace)
}

// examine loads a plugin and forgets it again. One of the cluster may be for other roles.
func (m *Manager) examine(ctx context.Context, host Host, src Source, replace bool) (p *Plugin, err error) {
	if src.Shared == nil {
		p, err = m.prepareFor(ctx, host, src)
	} else {
		p, err = m.prepareIn(ctx, host, src)
	}
	if err != nil {
		return nil, err
	}
	if m.Fits(p.Servers) {
		err = m.admit(p, m.predecessor(p, replace))
	}
	p.released.Store(true)
	m.hosts.discard(ctx, p)
	return p, err
}

// prepare lets the host load a plugin and checks what does not depend on other plugins.
func (m *Manager) prepare(ctx context.Context, l Language, src Source) (*Plugin, error) {
	host, err := m.hosts.of(l)
	if err != nil {
		return nil, err
	}
	return m.prepareFor(ctx, host, src)
}

// prepareFor is prepareIn for plugins that this process is to run.
func (m *Manager) prepareFor(ctx context.Context, host Host, src Source) (*Plugin, error) {
	p, err := m.prepareIn(ctx, host, src)
	if err == nil && !m.Fits(p.Servers) {
		m.hosts.discard(ctx, p)
		return nil, apierr.New(apierr.IllegalArgument, "%s: plugin %q is made for %v, this server is %v", src.Name, p.ID, p.Servers, m.opts.Roles)
	}
	return p, err
}

// prepareIn lets a host load a plugin and checks what depends on it alone.
func (m *Manager) prepareIn(ctx context.Context, host Host, src Source) (*Plugin, error) {
	module, err := m.hosts.load(ctx, host, src)
	if err != nil {
		if _, ok := errors.AsType[*apierr.Error](err); ok {
			return nil, err
		}
		refusal := apierr.New(apierr.IllegalArgument, "%s: %v", src.Name, err)
		if errors.Is(err, ErrNoPlugin) {
			refusal.Err = ErrNoPlugin
		}
		return nil, refusal
	}
	p := &Plugin{
		Descriptor: module.Descriptor(), Language: host.Language(), Path: src.Path, LoadedAt: time.Now().UTC().Truncate(time.Millisecond), module: module, source: src,
		roles: m.opts.Roles, left: make(chan struct{}), Digest: Digest(src.Data), timetable: m.Timetable, deliveries: &m.deliveries, granted: m.opts.Granted,
	}
	for _, e := range module.Extensions() {
		p.members = append(p.members, m.newMember(p, e))
	}
	watchBackground(p)
	if err := errors.Join(m.checkID(p), p.checkEndpoints()); err != nil {
		m.hosts.discard(ctx, p)
		return nil, apierr.New(apierr.IllegalArgument, "%s: %v", src.Name, err)
	}
	return p, nil
}

func (m *Manager) newMember(p *Plugin, e Extension) *member {
	timeout := func() time.Duration { return time.Duration(m.opts.Settings().HookTimeoutMillis) * time.Millisecond }
	b := newMember(p, e, timeout, m.opts.Logger)
	if m.opts.Observe != nil {
		b.record.observe = func(method *Method, d time.Duration, outcome string) {
			if p.shadow {
				return // Nobody waits for that.
			}
			m.opts.Observe(p, e.Class(), method, d, outcome)
		}
	}
	if p.Descriptor.Settings != nil {
		b.settings = func() (map[string]any, error) { return SettingsOf(p.Descriptor, m.values(p.ID)) }
	}
	b.record.failing = func(inARow int64, err error) { m.Recovery.consider(b, inARow, err) }
	return b
}

// Fits reports whether a plugin that is made for roles is for this process; no roles are all.
func (m *Manager) Fits(servers []role.Role) bool {
	return len(servers) == 0 || slices.ContainsFunc(servers, func(r role.Role) bool { return slices.Contains(m.opts.Roles, r) })
}

// maxID bounds the id of a plugin, in characters.
const maxID = 128

// badID says which rule an id breaks, "" if none. A comma would divide it in a query.
func badID(id string) string {
	n := utf8.RuneCountInString(id)
	if n >= 1 && n <= maxID && id == strings.TrimSpace(id) && !strings.ContainsFunc(id, func(r rune) bool {
		return r == ',' || r == utf8.RuneError || !unicode.IsPrint(r)
	}) {
		return ""
	}
	return fmt.Sprintf("the id of a plugin must have 1 to %d printable characters, no comma, and no blank at its ends", maxID)
}

// checkID refuses a new plugin whose id breaks the rules. Files of the folder may be from before there were any: they are
// loaded, so that they can be removed as others are.
func (m *Manager) checkID(p *Plugin) error {
	rule := badID(p.ID)
	switch {
	case rule == "":
		return nil
	case p.Path == "":
		return fmt.Errorf("the id is %q, but %s", clip(p.ID), rule)
	}
	m.opts.Logger.Warn("a plugin has an id that new ones may not have", "file", p.source.Name, "rule", rule)
	return nil
}

// clip shortens what is repeated in a message.
func clip(s string) string {
	const most = 64
	if utf8.RuneCountInString(s) <= most {
		return s
	}
	return string([]rune(s)[:most]) + "…"
}

// admit checks that a plugin gets along with those that are there, apart from one that it replaces.
func (m *Manager) admit(p, instead *Plugin) error {
	if instead != nil && instead.Shared() != nil && p.isUpload() {
		return apierr.New(apierr.DuplicateResource, "plugin %q is one of the whole cluster: add its new version with scope=CLUSTER", p.ID)
	}
	for _, other := range m.Plugins() {
		if other == instead {
			continue
		}
		if other.ID == p.ID && p.Shared() != nil {
			return apierr.New(apierr.DuplicateResource, "this node has a plugin %q of its own: remove it before the cluster has one", p.ID)
		}
		if err := p.getsAlong(other); err != nil {
			return err
		}
	}
	return nil
}

// getsAlong checks that a plugin can be there together with another one.
func (p *Plugin) getsAlong(other *Plugin) error {
	if other.ID == p.ID {
		return apierr.New(apierr.DuplicateResource, "a plugin with the id %q is loaded already", p.ID)
	}
	if names := p.collides(other); names != "" {
		return apierr.New(apierr.DuplicateResource, "%s", names)
	}
	for _, b := range other.members {
		for _, point := range b.Points() {
			if point.Singleton && p.implements(point) {
				return apierr.New(apierr.DuplicateResource, "plugin %q implements %s, and so does %q: only one may", p.ID, point.Name, other.ID)
			}
		}
	}
	return nil
}

func (p *Plugin) implements(point *Point) bool {
	return slices.ContainsFunc(p.members, func(b *member) bool { return slices.Contains(b.Points(), point) })
}

// install loads a plugin, in the place of another version if it may replace. commit is asked last, when nothing else can
// go wrong; old is nil if there is no other version. It may be nil.
func (m *Manager) install(ctx context.Context, l Language, src Source, replace bool, commit func(p, old *Plugin) error) (*Plugin, error) {
	installed, errs := m.installAll(ctx, []Source{src}, l, replace, func(candidates []candidate) (int, error) {
		if commit == nil {
			return 0, nil
		}
		return 0, commit(candidates[0].plugin, candidates[0].old)
	})
	if errs != nil {
		return installed[0].plugin, errs[0]
	}
	return installed[0].plugin, nil
}

// candidate is a plugin that is to be installed, and the one that it replaces, if any.
type candidate struct {
	plugin, old *Plugin
	followed    bool // Hooks may have run.
}

// installAll loads plugins of one language, all or none. commit is asked last, when nothing else can go wrong; its
// error is that of the plugin at the position that it returns. The errors have the positions of the sources; they are
// nil if all were installed. Plugins that could be loaded are there even with errors, and only tell what they are.
func (m *Manager) installAll(ctx context.Context, sources []Source, l Language, replace bool, commit func([]candidate) (int, error)) ([]candidate, []error) {
	list, errs := make([]candidate, len(sources)), make([]error, len(sources))
	failed := false
	for i, src := range sources {
		list[i].plugin, errs[i] = m.prepare(ctx, l, src)
		if errs[i] == nil && src.turn != nil {
			src.turn(ctx)
		}
		if errs[i] == nil {
			errs[i] = m.admitTo(list[:i], list[i].plugin, replace)
		}
		failed = failed || errs[i] != nil
	}
	for i := 0; i < len(list) && !failed; i++ {
		c := &list[i]
		if c.old = m.predecessor(c.plugin, replace); c.old != nil {
			c.followed = true
			errs[i] = c.plugin.follow(ctx, c.old)
			failed = errs[i] != nil
		}
	}
	if !failed {
		at, err := m.takeAll(list, replace, commit)
		if err != nil {
			errs[at], failed = err, true
		}
	}
	for i, c := range list {
		switch {
		case failed && c.followed:
			m.retire(ctx, c.plugin) // Some of it may have been started.
		case failed && c.plugin != nil:
			m.hosts.discard(ctx, c.plugin)
		case !failed:
			m.opts.Logger.Info("plugin loaded", "plugin", c.plugin.ID, "version", c.plugin.Version, "file", sources[i].Name, "replaced", c.old != nil)
			for _, warning := range c.plugin.Warnings() {
				m.opts.Logger.Warn("a plugin was loaded with a warning", "plugin", c.plugin.ID, "version", c.plugin.Version, "warning", warning)
			}
			if c.old != nil {
				m.dismiss(ctx, c.old, func() { m.gone(c.old, c.plugin) })
			}
		}
	}
	if failed {
		return list, errs
	}
	return list, nil
}

// admitTo checks that a plugin gets along with those that are there and with those that are to come with it.
func (m *Manager) admitTo(others []candidate, p *Plugin, replace bool) error {
	if err := m.admit(p, m.predecessor(p, replace)); err != nil {
		return err
	}
	for _, other := range others {
		if other.plugin == nil {
			continue
		}
		if err := p.getsAlong(other.plugin); err != nil {
			return err
		}
	}
	return nil
}

// predecessor is the plugin that p replaces, nil if there is none or it may not replace. What a node has of its own takes
// the place of what the cluster gave it, never the other way round.
func (m *Manager) predecessor(p *Plugin, replace bool) *Plugin {
	old, ok := m.Find(p.ID)
	switch {
	case !ok:
		return nil
	case p.Shared() != nil && old.Shared() == nil:
		return nil
	case replace, old.Shared() != nil && p.Shared() == nil && !p.isUpload():
		return old
	}
	return nil
}

// takeAll lets calls come to the candidates from now on, and notes which plugins they replaced. Those may be others than
// they followed, or none, if others were faster.
func (m *Manager) takeAll(list []candidate, replace bool, commit func([]candidate) (int, error)) (int, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.ctx.Err() != nil {
		return 0, errStopping()
	}
	for i := range list {
		c := &list[i]
		c.old = m.predecessor(c.plugin, replace)
		if err := m.admit(c.plugin, c.old); err != nil {
			return i, err
		}
	}
	if at, err := commit(list); err != nil {
		return at, err
	}
	all := m.Plugins()
	for _, c := range list {
		if i := slices.Index(all, c.old); i >= 0 {
			all[i], c.plugin.rank = c.plugin, c.old.rank
			continue
		}
		if c.plugin.rank = c.plugin.source.place(); c.plugin.rank == 0 {
			c.plugin.rank = m.nextRank
			m.nextRank++
		}
		all = append(all, c.plugin)
	}
	slices.SortStableFunc(all, func(a, b *Plugin) int { return a.rank - b.rank })
	m.publish(all)
	m.watching.Do(func() {
		m.watcher.Go(m.Recovery.watchExcess)
		if !m.opts.HoldSchedules {
			m.watcher.Go(m.Timetable.run)
		}
	})
	for _, c := range list {
		if c.old == nil || c.old.Digest != c.plugin.Digest { // Otherwise the same version was loaded anew.
			m.Waiting.forget(c.plugin.ID)
		}
		m.Recovery.attend(c.plugin)
	}
	return 0, nil
}

// errStopping refuses what cannot be done any more.
func errStopping() error { return apierr.New(apierr.ServerUnavailable, "the server stops") }

// follow brings the extensions into the state in which those of another version are.
func (p *Plugin) follow(ctx context.Context, old *Plugin) error {
	for _, b := range p.members {
		for _, h := range hooksTo(old.stateOf(b.Class())) {
			if _, err := b.life.Do(ctx, h); err != nil && h != Pause {
				return &apierr.Error{Code: apierr.IllegalArgument, Reason: fmt.Sprintf("%s of extension %q failed: %v", h, b.Class(), err), Err: err}
			}
		}
	}
	return nil
}

// stateOf returns the state of the extension of a class. One that is new is as far as the others.
func (p *Plugin) stateOf(class string) State {
	best := Loaded
	for _, b := range p.members {
		s := b.life.State()
		if b.Class() == class {
			return s
		}
		if s == Started || s == Paused && best == Loaded {
			best = s
		}
	}
	return best
}

// hooksTo are the hooks that lead from Loaded to a state.
func hooksTo(s State) []Hook {
	switch s {
	case Started:
		return []Hook{Start}
	case Paused:
		return []Hook{Start, Pause}
	}
	return nil
}
