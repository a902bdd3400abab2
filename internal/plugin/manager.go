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

// Options configure a Manager.
type Options struct {
	// Roles are the roles of this process.
	Roles []role.Role
	// Hosts run the plugins, one for each language.
	Hosts []Host
	// DryHost returns a host for one Check, which closes it: plugins that are only checked must not
	// change anything. If nil, the host of the language is used.
	DryHost func(l Language) (Host, error)
	// ShadowHost returns a host for one shadow, which is closed with it: the shadow's effects must
	// not reach the plugin. If nil, the host of the language is used.
	ShadowHost func(l Language) (Host, error)
	// Settings returns the current settings.
	Settings func() config.Plugin
	// Values returns the administrators' values of a plugin's settings. It may be nil.
	Values func(pluginID string) map[string]any
	// Granted contains the administrators' grants; nil grants plugins what they request.
	Granted *Granted
	// Slots decides which process of the cluster runs schedules that run only once; if nil, this
	// one does.
	Slots Slots
	// HoldSchedules prevents schedules from running by themselves: RunSlot runs them.
	HoldSchedules bool
	// Observe is called after every call of an extension, with its duration and outcome (ok,
	// refused, error, timeout). It may be nil.
	Observe func(p *Plugin, extension string, m *Method, d time.Duration, outcome string)
	// Traces records the effects of plugins on single calls; nil records nothing.
	Traces *trace.Recorder
	// Gone is called when an extension has been removed without successor. It may be nil.
	Gone   func(p *Plugin, extension string)
	Logger *slog.Logger
}

// A Manager manages the plugins of a process.
type Manager struct {
	Calls     *Calls
	Trials    *Trials
	Endpoints *Endpoints
	Recovery  *Recovery
	// Waiting are versions with missing grants.
	Waiting    *WaitingVersions
	Rejections *Rejections
	Timetable  *Timetable

	*work

	opts  Options
	hosts hosts

	// mu serialises changes of the loaded plugins. No code of a plugin runs under it.
	mu sync.Mutex
	// list is read and replaced under listMu, which is held only briefly.
	listMu sync.RWMutex
	list   []*Plugin
	// nextRank is the rank of the next plugin without a place of its own.
	nextRank int
	// watching starts the usage checks and the schedules, with the first plugin.
	watching sync.Once
	// deliveries are the states of event deliveries.
	deliveries deliveries
}

// firstRank is the rank of the first plugin that is loaded after the initial ones.
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

// Plugins returns the loaded plugins, in order.
func (m *Manager) Plugins() []*Plugin {
	m.listMu.RLock()
	defer m.listMu.RUnlock()
	return slices.Clone(m.list)
}

// withTrials returns the loaded plugins, followed by the candidates.
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

// publish makes a list of plugins the current one.
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

// drainTimeout is how long the running calls of a removed plugin may take. Each has its own limit
// as well.
const drainTimeout = 30 * time.Second

// retire ends a plugin that is no longer in the list: calls finish, extensions stop, everything is
// freed.
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
			_, _ = b.life.Do(ctx, Stop) // It is stopped whatever its hook does.
		})
	}
	wg.Wait()
	m.hosts.discard(ctx, p)
}

// dismiss retires a plugin and calls gone. A plugin that dismisses itself does not wait.
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

// gone calls Options.Gone for the extensions of a plugin without successor.
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

// Remove removes, stops and frees a plugin.
func (m *Manager) Remove(ctx context.Context, id string) (*Plugin, error) {
	return m.remove(ctx, id, func(*Plugin) bool { return true })
}

// remove is Remove if wanted accepts the plugin with the id.
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

// Close removes all plugins and closes the hosts. Calls that they could have refused are refused
// from then on. If ctx ends before the plugins have stopped, the hosts are closed nevertheless,
// which ends the rest.
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

// A Step is the result of a hook on one extension.
type Step struct {
	Extension string
	State     State
	Changed   bool
	// Err is why the hook did not run or failed, or nil.
	Err error
}

// Impossible reports whether the hook did not run because the state has no such transition.
func (s Step) Impossible() bool {
	_, ok := errors.AsType[*StateError](s.Err)
	return ok
}

// Waits reports whether the hook did not run because the plugin waits for grants.
func (s Step) Waits() bool {
	_, ok := errors.AsType[*WaitingError](s.Err)
	return ok
}

// Do runs a hook of all extensions of a plugin concurrently.
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

// errOwnHook refuses a hook that would wait for the requesting one.
var errOwnHook = apierr.New(apierr.IllegalArgument, "the plugin cannot change its own state while a hook of it runs")

// Boot starts a plugin at the start of the server. Its calls fail until it has started.
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

// release frees a listed plugin whose extensions are all stopped, for good.
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

// An ExtensionInfo describes an extension.
type ExtensionInfo struct {
	Class  string
	State  State
	Points []*Point
	// Methods are the methods that it implements.
	Methods []*Method
	// Queue is the number of running and waiting calls.
	Queue     int
	Schedules []ScheduleInfo
	Endpoints []*PublishedEndpoint
	// Delivery is the state of its event delivery; nil if it is not being served.
	Delivery *DeliveryInfo
	Statistics
}

// Unavailable returns the extensions that should run and cannot, with the reasons; "" if there are
// none.
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
