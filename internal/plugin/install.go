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

// Load loads a plugin without starting it. Errors are *apierr.Error. With an error the returned
// plugin is unusable.
func (m *Manager) Load(ctx context.Context, l Language, src Source) (*Plugin, error) {
	return m.install(ctx, l, src, false, nil)
}

// Replace loads a new version of a plugin and replaces the one with the same id, in its state,
// without losing calls: the new one is started, then calls are switched to it, then the old one is
// stopped. If the new one cannot be loaded or started, the old one stays. Without an old one it is
// Load. With an error the returned plugin only describes the new version; it is nil if that is
// unknown.
func (m *Manager) Replace(ctx context.Context, l Language, src Source) (*Plugin, error) {
	return m.install(ctx, l, src, true, nil)
}

// Check loads a plugin like Load and Replace, runs no hook, and unloads it. The returned plugin
// cannot be called. It is returned even with an error if the plugin itself is valid and only
// conflicts with others.
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

// examine loads and unloads a plugin. One of the cluster may be for other roles.
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

// prepare loads a plugin in its host and checks what does not depend on other plugins.
func (m *Manager) prepare(ctx context.Context, l Language, src Source) (*Plugin, error) {
	host, err := m.hosts.of(l)
	if err != nil {
		return nil, err
	}
	return m.prepareFor(ctx, host, src)
}

// prepareFor is prepareIn for plugins that this process will run.
func (m *Manager) prepareFor(ctx context.Context, host Host, src Source) (*Plugin, error) {
	p, err := m.prepareIn(ctx, host, src)
	if err == nil && !m.Fits(p.Servers) {
		m.hosts.discard(ctx, p)
		return nil, apierr.New(apierr.IllegalArgument, "%s: plugin %q is made for %v, this server is %v", src.Name, p.ID, p.Servers, m.opts.Roles)
	}
	return p, err
}

// prepareIn loads a plugin in a host and checks what depends only on it.
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

// Fits reports whether a plugin for the given roles is for this process; empty means all roles.
func (m *Manager) Fits(servers []role.Role) bool {
	return len(servers) == 0 || slices.ContainsFunc(servers, func(r role.Role) bool { return slices.Contains(m.opts.Roles, r) })
}

// maxID is the maximum length of a plugin's id, in characters.
const maxID = 128

// badID returns the rule that an id violates, or "". A comma would split it in a query.
func badID(id string) string {
	n := utf8.RuneCountInString(id)
	if n >= 1 && n <= maxID && id == strings.TrimSpace(id) && !strings.ContainsFunc(id, func(r rune) bool {
		return r == ',' || r == utf8.RuneError || !unicode.IsPrint(r)
	}) {
		return ""
	}
	return fmt.Sprintf("the id of a plugin must have 1 to %d printable characters, no comma, and no blank at its ends", maxID)
}

// checkID returns an error for a new plugin with an invalid id. Files of the folder may predate the
// rules: they are loaded, so that they can be removed like others.
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

// clip shortens input for use in an error.
func clip(s string) string {
	const most = 64
	if utf8.RuneCountInString(s) <= most {
		return s
	}
	return string([]rune(s)[:most]) + "…"
}

// admit checks that a plugin is compatible with the loaded ones, except the one that it replaces.
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

// getsAlong checks that two plugins are compatible.
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

// install loads a plugin, replacing another version if allowed. commit is called last, when nothing
// else can fail; old is nil if there is no other version. commit may be nil.
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

// candidate is a plugin to be installed, and the one that it replaces, if any.
type candidate struct {
	plugin, old *Plugin
	followed    bool // Hooks may have run.
}

// installAll loads plugins of one language, all or none. commit is called last, when nothing else
// can fail; its error belongs to the plugin at the returned position. The errors have the positions
// of the sources; nil if all were installed. Valid plugins are returned even with errors, only as
// descriptions.
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
			m.retire(ctx, c.plugin) // Parts of it may have been started.
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

// admitTo checks that a plugin is compatible with the loaded ones and with those installed with it.
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

// predecessor returns the plugin that p replaces, or nil if there is none or replacing is not
// allowed. A node's own plugin replaces one of the cluster, never the other way round.
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

// takeAll switches calls to the candidates, and records which plugins they replaced. After
// concurrent changes those may differ from the ones they followed.
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
		if c.old == nil || c.old.Digest != c.plugin.Digest { // Otherwise the same version was reloaded.
			m.Waiting.forget(c.plugin.ID)
		}
		m.Recovery.attend(c.plugin)
	}
	return 0, nil
}

// errStopping returns the error for operations during the shutdown.
func errStopping() error { return apierr.New(apierr.ServerUnavailable, "the server stops") }

// follow brings the extensions into the states of another version.
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

// stateOf returns the state of the extension of a class. A new class gets the most advanced state
// of the others.
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

// hooksTo returns the hooks that lead from Loaded to a state.
func hooksTo(s State) []Hook {
	switch s {
	case Started:
		return []Hook{Start}
	case Paused:
		return []Hook{Start, Pause}
	}
	return nil
}
