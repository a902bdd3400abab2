// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"example.org/app/internal/apierr"
	"example.org/app/internal/config"
	"example.org/app/internal/plugin/trace"
	"example.org/app/internal/role"
)

// Options are what a Manager is built from.
type Options struct {
	// Roles are what this process does.
	Roles []role.Role
	// Hosts run the plugins, one for each language.
	Hosts []Host
	// DryHost returns a host for one Check, which closes it: plugins that are only checked must change nothing. If it is
	// nil, the host of the language is used.
	DryHost func(l Language) (Host, error)
	// ShadowHost returns a host for one candidate that gets copies of calls, which is closed with it: what the candidate does
	// there must not reach the plugin. If it is nil, the host of the language is used.
	ShadowHost func(l Language) (Host, error)
	// Settings returns the current settings.
	Settings func() config.Plugin
	// Values returns what administrators set of the settings of a plugin. It may be nil.
	Values func(pluginID string) map[string]any
	// Granted is what administrators granted to plugins; nil grants them what they ask for.
	Granted *Granted
	// Slots decides which process of the cluster runs schedules that only one runs; if it is nil, this one does.
	Slots Slots
	// HoldSchedules keeps schedules from running by themselves: RunSlot runs them.
	HoldSchedules bool
	// Observe is told of every call of an extension: how long it took and how it ended (ok, refused, error, timeout). It may be nil.
	Observe func(p *Plugin, extension string, m *Method, d time.Duration, outcome string)
	// Traces records what plugins did to single calls; nil records nothing.
	Traces *trace.Recorder
	// Gone is told of every extension that will be called no more and has no successor. It may be nil.
	Gone   func(p *Plugin, extension string)
	Logger *slog.Logger
}

// A Manager keeps the plugins of a process.
type Manager struct {
	Calls     *Calls
	Trials    *Trials
	Endpoints *Endpoints
	Recovery  *Recovery
	// Waiting are versions that are not granted what they ask for.
	Waiting    *WaitingVersions
	Rejections *Rejections
	Timetable  *Timetable

	*work

	opts  Options
	hosts hosts

	// mu serialises changes of what is loaded. No code of a plugin runs under it.
	mu sync.Mutex
	// list is read and replaced under listMu, which is held shortly.
	listMu sync.RWMutex
	list   []*Plugin
	// nextRank is that of the next plugin that has no place of its own.
	nextRank int
	// watching begins to watch the usage of plugins and to run schedules, with the first plugin.
	watching sync.Once
	// deliveries is what Events knows of the extensions that get events from the store.
	deliveries deliveries
}

// firstRank is the rank of the first plugin that is loaded after those that the server starts with.
const firstRank = 1 << 30

// NewManager returns a manager without plugins.
func NewManager(o Options) *Manager {
	w := newWork()
	m := &Manager{
		opts: o, nextRank: firstRank, work: w, hosts: hosts{work: w, list: o.Hosts, settings: o.Settings, logger: o.Logger},
		Calls: newCalls(w, tracer{o.Traces}, o.Settings), Rejections: &Rejections{logger: o.Logger}, Waiting: &WaitingVersions{work: w, logger: o.Logger},
	}
	m.Timetable = &Timetable{m: m, entries: map[scheduleKey]*timetableEntry{}}
	m.Trials = &Trials{m: m, splits: map[string]*split{}, pastShadows: map[string]pastShadow{}}
	m.Endpoints = &Endpoints{m}
	m.Recovery = &Recovery{work: w, settings: o.Settings, logger: o.Logger, m: m}
	return m
}

// Plugins returns what is loaded, in the order of loading.
func (m *Manager) Plugins() []*Plugin {
	m.listMu.RLock()
	defer m.listMu.RUnlock()
	return slices.Clone(m.list)
}

// withTrials returns what is loaded, and after that the candidates.
func (m *Manager) withTrials() []*Plugin {
	m.listMu.RLock()
	defer m.listMu.RUnlock()
	list := slices.Clone(m.list)
	for _, s := range m.Trials.splits {
		list = append(list, s.candidate)
	}
	return list
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

// Runs reports whether there is a host for a language.
func (m *Manager) Runs(l Language) bool {
	_, err := m.hosts.of(l)
	return err == nil
}

// publish makes a list of plugins the one that counts.
func (m *Manager) publish(list []*Plugin) {
	table := make(map[*Point][]seat)
	add := func(p *Plugin, split *split, candidate bool) {
		for _, b := range p.members {
			for _, point := range b.Points() {
				table[point] = append(table[point], seat{b, split, candidate})
			}
		}
	}
	for _, p := range list {
		if p.released.Load() {
			continue
		}
		trial := m.Trials.splits[p.ID]
		if trial != nil && (p.Shared() == nil) != (trial.candidate.Shared() == nil) {
			trial = nil // The node has its own plugin with this id now.
		}
		add(p, trial, false)
		if trial == nil {
			p.meter.Store(nil)
			continue
		}
		add(trial.candidate, trial, true)
		p.meter.CompareAndSwap(nil, &meter{})
		trial.candidate.meter.CompareAndSwap(nil, &meter{})
	}
	m.listMu.Lock()
	m.list = list
	m.listMu.Unlock()
	m.Calls.table.Store(&table)
}

// drainTimeout bounds how long a plugin that goes away may finish calls that are running. Each has its own limit as well.
const drainTimeout = 30 * time.Second

// retire ends a plugin that is no longer in the list: calls finish, extensions stop, everything is freed.
func (m *Manager) retire(ctx context.Context, p *Plugin) {
	ctx = context.WithoutCancel(ctx)
	p.leaving.Do(func() { close(p.left) })
	if r, ok := p.module.(Retirer); ok {
		r.Retire()
	}
	drain, cancel := context.WithTimeout(ctx, drainTimeout)
	defer cancel()
	var wg sync.WaitGroup
	for _, b := range p.members {
		wg.Go(func() {
			b.life.end()
			b.calls.close(drain)
			_, _ = b.life.Do(ctx, Stop) // Whatever its hook does, it is stopped.
		})
	}
	wg.Wait()
	m.hosts.discard(ctx, p)
}

// dismiss retires a plugin and tells of what is gone with it. A plugin that does that to itself does not wait.
func (m *Manager) dismiss(ctx context.Context, p *Plugin, gone func()) {
	if p.isCaller(ctx) {
		m.tellers.Go(func() {
			m.retire(ctx, p)
			gone()
		})
		return
	}
	m.retire(ctx, p)
	gone()
}

// gone tells of the extensions of a plugin that have no successor.
func (m *Manager) gone(p, next *Plugin) {
	if m.opts.Gone == nil {
		return
	}
	for _, b := range p.members {
		if next == nil || !slices.ContainsFunc(next.members, func(other *member) bool { return other.Class() == b.Class() }) {
			m.opts.Gone(p, b.Class())
		}
	}
}

// Remove takes a plugin out of service, stops it and frees it.
func (m *Manager) Remove(ctx context.Context, id string) (*Plugin, error) {
	return m.remove(ctx, id, func(*Plugin) bool { return true })
}

// remove is Remove if the plugin that has the id is a wanted one.
func (m *Manager) remove(ctx context.Context, id string, wanted func(*Plugin) bool) (*Plugin, error) {
	m.mu.Lock()
	p, ok := m.Find(id)
	if !ok || !wanted(p) {
		m.mu.Unlock()
		return nil, apierr.New(apierr.ResourceNotFound, "there is no plugin %q", id)
	}
	candidate := m.Trials.withdraw(id)
	m.Waiting.forget(id)
	m.publish(slices.DeleteFunc(m.Plugins(), func(other *Plugin) bool { return other == p }))
	m.mu.Unlock()
	if candidate != nil {
		m.dismiss(ctx, candidate, func() {})
	}
	m.dismiss(ctx, p, func() { m.gone(p, nil) })
	m.opts.Logger.Info("plugin removed", "plugin", p.ID, "version", p.Version)
	return p, nil
}

// Close removes all plugins and closes the hosts. What they could have refused is refused from then on. If ctx ends
// before the plugins have stopped, the hosts are closed all the same, which ends what is left of them.
func (m *Manager) Close(ctx context.Context) error {
	m.end()
	m.mu.Lock()
	list := m.withTrials()
	m.Calls.markStopping()
	m.publish(nil)
	m.mu.Unlock()
	var wg sync.WaitGroup
	for _, p := range list {
		wg.Go(func() { m.retire(ctx, p) })
	}
	wait(ctx, &wg, &m.loads, &m.tellers, &m.watcher)
	if ctx.Err() != nil {
		m.opts.Logger.Warn("plugins did not stop in time and are ended")
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(context.WithoutCancel(ctx), endTimeout)
		defer cancel()
	}
	var errs []error
	for _, p := range list {
		if p.host != nil {
			errs = append(errs, p.host.Close(ctx))
		}
	}
	for _, h := range m.hosts.list {
		errs = append(errs, h.Close(ctx))
	}
	wait(ctx, &wg, &m.loads, &m.tellers, &m.watcher) // Their modules are closed, so they end.
	return errors.Join(errs...)
}

// endTimeout is how long hosts may take to end what did not stop in time.
const endTimeout = 5 * time.Second

// A Step is what a hook did to one extension.
type Step struct {
	Extension string
	State     State
	Changed   bool
	// Err is why the hook did not run, or how it failed.
	Err error
}

// Impossible reports whether the hook did not run because the extension is in a state that has no such step.
func (s Step) Impossible() bool {
	_, ok := errors.AsType[*StateError](s.Err)
	return ok
}

// Waits reports whether the hook did not run because the plugin waits for grants.
func (s Step) Waits() bool {
	_, ok := errors.AsType[*WaitingError](s.Err)
	return ok
}

// Do runs a hook of all extensions of a plugin at the same time.
func (m *Manager) Do(ctx context.Context, p *Plugin, h Hook) []Step {
	steps := make([]Step, len(p.members))
	var wg sync.WaitGroup
	for i, b := range p.members {
		wg.Go(func() {
			if p.isCaller(ctx) && b.life.busy() {
				steps[i] = Step{Extension: b.Class(), State: b.life.State(), Err: errOwnHook}
				return
			}
			do := func() (bool, error) { return b.life.Do(ctx, h) }
			switch h {
			case Start:
				do = func() (bool, error) { return m.Recovery.begin(ctx, b) }
			case Stop, Pause:
				b.waiting.Store(false)
			}
			changed, err := do()
			steps[i] = Step{Extension: b.Class(), State: b.life.State(), Changed: changed, Err: err}
		})
	}
	wg.Wait()
	if h == Stop {
		m.release(ctx, p)
	}
	return steps
}

// errOwnHook refuses a hook that would wait for the one that asks for it.
var errOwnHook = apierr.New(apierr.IllegalArgument, "the plugin cannot change its own state while a hook of it runs")

// Boot starts a plugin when the server starts. Calls of it fail until it has started.
func (m *Manager) Boot(ctx context.Context, p *Plugin) (err error) {
	for _, b := range p.members {
		b.record.quarantine("it has not started yet")
	}
	for _, s := range m.Do(ctx, p, Start) {
		if s.Err != nil && !s.Waits() { // The server starts without what waits for an administrator.
			err = errors.Join(err, fmt.Errorf("start extension %q of plugin %q: %w", s.Extension, p.ID, s.Err))
		}
	}
	return err
}

// release frees a plugin that is still listed when all of its extensions are stopped, which they are for good.
func (m *Manager) release(ctx context.Context, p *Plugin) {
	if slices.ContainsFunc(p.members, func(b *member) bool { return b.life.State() != Stopped }) {
		return
	}
	m.mu.Lock()
	first := p.released.CompareAndSwap(false, true)
	m.publish(m.Plugins()) // Without the extensions of this one.
	m.mu.Unlock()
	if first {
		m.dismiss(ctx, p, func() {})
	}
}

// An ExtensionInfo is what there is to know of an extension.
type ExtensionInfo struct {
	Class  string
	State  State
	Points []*Point
	// Methods are those that it has functions for.
	Methods []*Method
	// Queue is how many calls are running or waiting for their turn.
	Queue     int
	Schedules []ScheduleInfo
	Endpoints []*PublishedEndpoint
	// Delivery is how events reach it that it gets at least once; nil if it is no consumer that is served.
	Delivery *DeliveryInfo
	Statistics
}

// Unavailable says which extensions should run and cannot, each with the reason; "" is none.
func (m *Manager) Unavailable() string {
	var list []string
	for _, p := range m.Plugins() {
		for _, b := range p.members {
			if why := b.record.down.Load(); why != nil {
				list = append(list, fmt.Sprintf("%s of plugin %q: %s", b.Class(), p.ID, *why))
			}
		}
	}
	return strings.Join(list, "; ")
}
