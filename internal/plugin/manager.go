// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"example.org/app/internal/apierr"
	"example.org/app/internal/config"
)

// Options are what a Manager is built from.
type Options struct {
	// Roles are what this process does.
	Roles []Role
	// Hosts run the plugins, one for each language.
	Hosts []Host
	// Settings returns the current settings.
	Settings func() config.Plugin
	// Observe is told of every call of an extension: how long it took and how it ended (ok, refused, error, timeout). It may be nil.
	Observe func(p *Plugin, extension string, m *Method, d time.Duration, outcome string)
	Logger  *slog.Logger
}

// A Manager keeps the plugins of a process.
type Manager struct {
	opts Options
	// table has the extensions of each point, in the order in which their plugins were loaded. It is replaced, never
	// changed, so that a call needs no lock.
	table atomic.Pointer[map[*Point][]*member]

	mu sync.Mutex // Serialises changes of what is loaded. Hooks of Replace run under it.
	// list is read and replaced under listMu, which is held shortly.
	listMu   sync.RWMutex
	list     []*Plugin
	rejected []Rejected
	closed   bool

	tellers sync.WaitGroup
}

// A Plugin is loaded.
type Plugin struct {
	Descriptor
	Language Language
	// Path is its file; it is empty if it is in none.
	Path     string
	LoadedAt time.Time
	module   Module
	members  []*member
}

// A Rejected is a file that could not be loaded.
type Rejected struct {
	Name, Path string
	Reason     string
	At         time.Time
}

// NewManager returns a manager without plugins.
func NewManager(o Options) *Manager {
	m := &Manager{opts: o}
	m.table.Store(&map[*Point][]*member{})
	return m
}

// Plugins returns what is loaded, in the order of loading.
func (m *Manager) Plugins() []*Plugin {
	m.listMu.RLock()
	defer m.listMu.RUnlock()
	return slices.Clone(m.list)
}

// Find returns the plugin with an id.
func (m *Manager) Find(id string) (*Plugin, bool) {
	m.listMu.RLock()
	defer m.listMu.RUnlock()
	i := slices.IndexFunc(m.list, func(p *Plugin) bool { return p.ID == id })
	if i < 0 {
		return nil, false
	}
	return m.list[i], true
}

// Rejected returns the files that could not be loaded, each with the newest reason.
func (m *Manager) Rejected() []Rejected {
	m.listMu.RLock()
	defer m.listMu.RUnlock()
	return slices.Clone(m.rejected)
}

// host returns the host of a language.
func (m *Manager) host(l Language) (Host, error) {
	i := slices.IndexFunc(m.opts.Hosts, func(h Host) bool { return h.Language() == l })
	if i < 0 {
		return nil, apierr.New(apierr.IllegalArgument, "this server has no host for plugins in %s", l)
	}
	return m.opts.Hosts[i], nil
}

// Load loads a plugin, which is not started by that. Errors are *apierr.Error.
func (m *Manager) Load(ctx context.Context, l Language, src Source) (*Plugin, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	p, err := m.prepare(ctx, l, src)
	if err == nil {
		err = m.admit(p, nil)
	}
	if err != nil {
		if p != nil {
			m.discard(ctx, p)
		}
		m.reject(src, err)
		return nil, err
	}
	m.publish(append(m.Plugins(), p))
	m.forgive(src)
	m.opts.Logger.Info("plugin loaded", "plugin", p.ID, "version", p.Version, "file", src.Name)
	return p, nil
}

// Check loads a plugin as Load does, and forgets it again.
func (m *Manager) Check(ctx context.Context, l Language, src Source) (*Plugin, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	p, err := m.prepare(ctx, l, src)
	if err != nil {
		return nil, err
	}
	m.discard(ctx, p)
	return p, nil
}

// prepare lets the host load a plugin and checks what does not depend on other plugins.
func (m *Manager) prepare(ctx context.Context, l Language, src Source) (*Plugin, error) {
	if m.closed {
		return nil, apierr.New(apierr.ServerUnavailable, "the server stops")
	}
	host, err := m.host(l)
	if err != nil {
		return nil, err
	}
	module, err := host.Load(ctx, src)
	if err != nil {
		if _, ok := errors.AsType[*apierr.Error](err); ok {
			return nil, err
		}
		return nil, apierr.New(apierr.IllegalArgument, "%s: %v", src.Name, err)
	}
	p := &Plugin{Descriptor: module.Descriptor(), Language: l, Path: src.Path, LoadedAt: time.Now().UTC().Truncate(time.Millisecond), module: module}
	for _, e := range module.Extensions() {
		p.members = append(p.members, m.newMember(p, e))
	}
	if err := m.suits(p); err != nil {
		m.discard(ctx, p)
		return nil, apierr.New(apierr.IllegalArgument, "%s: %v", src.Name, err)
	}
	return p, nil
}

func (m *Manager) newMember(p *Plugin, e Extension) *member {
	timeout := func() time.Duration { return time.Duration(m.opts.Settings().HookTimeoutMillis) * time.Millisecond }
	b := newMember(p, e, timeout, m.opts.Logger)
	if m.opts.Observe != nil {
		b.record.observe = func(method *Method, d time.Duration, outcome string) {
			m.opts.Observe(p, e.Class(), method, d, outcome)
		}
	}
	b.record.failing = func(inARow int64, err error) { m.consider(b, inARow, err) }
	return b
}

// suits checks that a plugin is made for this server.
func (m *Manager) suits(p *Plugin) error {
	if len(p.Servers) == 0 || slices.ContainsFunc(p.Servers, func(r Role) bool { return slices.Contains(m.opts.Roles, r) }) {
		return nil
	}
	return fmt.Errorf("plugin %q is made for %v, this server is %v", p.ID, p.Servers, m.opts.Roles)
}

// admit checks that a plugin gets along with those that are there, apart from one that it replaces.
func (m *Manager) admit(p, instead *Plugin) error {
	for _, other := range m.Plugins() {
		if other == instead {
			continue
		}
		if other.ID == p.ID {
			return apierr.New(apierr.DuplicateResource, "a plugin with the id %q is loaded already", p.ID)
		}
		for _, b := range other.members {
			for _, point := range b.Points() {
				if point.Singleton && p.implements(point) {
					return apierr.New(apierr.DuplicateResource, "plugin %q implements %s, and so does %q: only one may", p.ID, point.Name, other.ID)
				}
			}
		}
	}
	return nil
}

func (p *Plugin) implements(point *Point) bool {
	return slices.ContainsFunc(p.members, func(b *member) bool { return slices.Contains(b.Points(), point) })
}

// publish makes a list of plugins the one that counts.
func (m *Manager) publish(list []*Plugin) {
	table := make(map[*Point][]*member)
	for _, p := range list {
		for _, b := range p.members {
			for _, point := range b.Points() {
				table[point] = append(table[point], b)
			}
		}
	}
	m.listMu.Lock()
	m.list = list
	m.listMu.Unlock()
	m.table.Store(&table)
}

// discard frees a plugin that nobody can call.
func (m *Manager) discard(ctx context.Context, p *Plugin) {
	if err := p.module.Close(ctx); err != nil {
		m.opts.Logger.Warn("a plugin could not be closed", "plugin", p.ID, "error", err)
	}
}

// reject keeps why a file was not loaded.
func (m *Manager) reject(src Source, err error) {
	reason := apierr.From(err).Reason
	m.opts.Logger.Warn("plugin rejected", "file", src.Name, "reason", reason)
	m.forgive(src)
	m.listMu.Lock()
	defer m.listMu.Unlock()
	if m.rejected = append(m.rejected, Rejected{Name: src.Name, Path: src.Path, Reason: reason, At: time.Now().UTC().Truncate(time.Millisecond)}); len(m.rejected) > maxRejected {
		m.rejected = slices.Delete(m.rejected, 0, 1)
	}
}

// maxRejected bounds how many rejections are kept.
const maxRejected = 100

// forgive forgets that a file was rejected.
func (m *Manager) forgive(src Source) {
	m.listMu.Lock()
	defer m.listMu.Unlock()
	m.rejected = slices.DeleteFunc(slices.Clone(m.rejected), func(r Rejected) bool { return r.Name == src.Name && r.Path == src.Path })
}

// Replace loads a new version of a plugin and lets it take the place of the one with the same id, in its state, without
// a call lost: the new one is started first, then calls go to it, then the old one is stopped. If the new one cannot be
// loaded or started, the old one stays. Without an old one it is Load.
func (m *Manager) Replace(ctx context.Context, l Language, src Source) (*Plugin, error) {
	m.mu.Lock()
	p, old, err := m.replace(ctx, l, src)
	m.mu.Unlock()
	if err != nil {
		m.reject(src, err)
		return nil, err
	}
	m.forgive(src)
	if old != nil {
		m.retire(ctx, old)
	}
	m.opts.Logger.Info("plugin loaded", "plugin", p.ID, "version", p.Version, "file", src.Name, "replaced", old != nil)
	return p, nil
}

func (m *Manager) replace(ctx context.Context, l Language, src Source) (p, old *Plugin, err error) {
	if p, err = m.prepare(ctx, l, src); err != nil {
		return nil, nil, err
	}
	old, _ = m.Find(p.ID)
	if err = m.admit(p, old); err == nil && old != nil {
		err = p.follow(ctx, old)
	}
	if err != nil {
		m.retire(ctx, p)
		return nil, nil, err
	}
	list := m.Plugins()
	if i := slices.Index(list, old); i >= 0 {
		list[i] = p
	} else {
		list = append(list, p)
	}
	m.publish(list)
	return p, old, nil
}

// follow brings the extensions into the state in which those of another version are.
func (p *Plugin) follow(ctx context.Context, old *Plugin) error {
	for _, b := range p.members {
		for _, h := range hooksTo(old.stateOf(b.Class())) {
			if _, err := b.life.Do(ctx, h); err != nil && h != Pause {
				return apierr.New(apierr.IllegalArgument, "%s of extension %q failed: %v", h, b.Class(), err)
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

// drainTimeout bounds how long a plugin that goes away may finish calls that are running. Each has its own limit as well.
const drainTimeout = 30 * time.Second

// retire ends a plugin that is no longer in the list: calls finish, extensions stop, everything is freed.
func (m *Manager) retire(ctx context.Context, p *Plugin) {
	ctx = context.WithoutCancel(ctx)
	drain, cancel := context.WithTimeout(ctx, drainTimeout)
	defer cancel()
	var wg sync.WaitGroup
	for _, b := range p.members {
		wg.Go(func() {
			b.calls.close(drain)
			_, _ = b.life.Do(ctx, Stop) // Whatever its hook does, it is stopped.
		})
	}
	wg.Wait()
	m.discard(ctx, p)
}

// Remove takes a plugin out of service, stops it and frees it.
func (m *Manager) Remove(ctx context.Context, id string) (*Plugin, error) {
	m.mu.Lock()
	p, ok := m.Find(id)
	if !ok {
		m.mu.Unlock()
		return nil, apierr.New(apierr.ResourceNotFound, "there is no plugin %q", id)
	}
	m.publish(slices.DeleteFunc(m.Plugins(), func(other *Plugin) bool { return other == p }))
	m.mu.Unlock()
	m.retire(ctx, p)
	m.opts.Logger.Info("plugin removed", "plugin", p.ID, "version", p.Version)
	return p, nil
}

// Close removes all plugins and closes the hosts.
func (m *Manager) Close(ctx context.Context) error {
	m.mu.Lock()
	m.closed = true
	list := m.Plugins()
	m.publish(nil)
	m.mu.Unlock()
	var wg sync.WaitGroup
	for _, p := range list {
		wg.Go(func() { m.retire(ctx, p) })
	}
	wg.Wait()
	m.tellers.Wait()
	var errs []error
	for _, h := range m.opts.Hosts {
		errs = append(errs, h.Close(ctx))
	}
	return errors.Join(errs...)
}

// A Step is what a hook did to one extension.
type Step struct {
	Extension string
	State     State
	Changed   bool
	// Err is why the hook did not run, or how it failed.
	Err error
}

// Do runs a hook of all extensions of a plugin at the same time.
func (m *Manager) Do(ctx context.Context, p *Plugin, h Hook) []Step {
	steps := make([]Step, len(p.members))
	var wg sync.WaitGroup
	for i, b := range p.members {
		wg.Go(func() {
			changed, err := b.life.Do(ctx, h)
			if changed && h == Resume {
				b.record.quarantine("")
			}
			steps[i] = Step{Extension: b.Class(), State: b.life.State(), Changed: changed, Err: err}
		})
	}
	wg.Wait()
	return steps
}

// An ExtensionInfo is what there is to know of an extension.
type ExtensionInfo struct {
	Class  string
	State  State
	Points []*Point
	Statistics
}

// Extensions returns what there is to know of the extensions.
func (p *Plugin) Extensions() []ExtensionInfo {
	infos := make([]ExtensionInfo, len(p.members))
	for i, b := range p.members {
		infos[i] = ExtensionInfo{Class: b.Class(), State: b.life.State(), Points: b.Points(), Statistics: b.record.statistics()}
	}
	return infos
}

// Memory is how many bytes the plugin holds; 0 is unknown.
func (p *Plugin) Memory() int64 { return p.module.Memory() }

// consider pauses an extension that fails again and again, if the settings say so.
func (m *Manager) consider(b *member, inARow int64, err error) {
	q := m.opts.Settings().Quarantine
	if !q.Enabled || inARow != int64(q.Failures) {
		return
	}
	why := fmt.Sprintf("paused after %d failures in a row, the last: %v", inARow, err)
	b.record.quarantine(why)
	b.logger.Warn("extension paused because it fails again and again", "failures", inARow, "error", err)
	m.tellers.Go(func() { _, _ = b.life.Do(context.Background(), Pause) })
}

// limitOf is the time limit of a call.
func (m *Manager) limitOf(method *Method) time.Duration {
	s := m.opts.Settings()
	return time.Duration(cmp.Or(pointSettings(&s, method.Point).TimeoutMillis, s.CallTimeoutMillis)) * time.Millisecond
}

// failureOf is what a failure of a call means.
func (m *Manager) failureOf(method *Method) Failure {
	s := m.opts.Settings()
	switch pointSettings(&s, method.Point).OnFailure {
	case config.FailureRefuse:
		return Refuse
	case config.FailureIgnore:
		return Ignore
	}
	return method.Failure
}

func pointSettings(s *config.Plugin, p *Point) config.ExtensionPoint {
	switch p {
	case AdminActionHandler:
		return s.ExtensionPoints.AdminActionHandler
	case UserAuthenticator:
		return s.ExtensionPoints.UserAuthenticator
	case UserOnlineStatusChangeHandler:
		return s.ExtensionPoints.UserOnlineStatusChangeHandler
	case NotificationHandler:
		return s.ExtensionPoints.NotificationHandler
	case ClientRequestHandler:
		return s.ExtensionPoints.ClientRequestHandler
	case RequestHandlerResultHandler:
		return s.ExtensionPoints.RequestHandlerResultHandler
	case ExpiredMessageDeletionNotifier:
		return s.ExtensionPoints.ExpiredMessageDeletionNotifier
	case StorageServiceProvider:
		return s.ExtensionPoints.StorageServiceProvider
	case ConferenceServiceProvider:
		return s.ExtensionPoints.ConferenceServiceProvider
	}
	return config.ExtensionPoint{}
}
