// SPDX-License-Identifier: Apache-2.0

// Package adapter connects plugins to the roles: it creates the hosts and the manager of a process,
// loads and starts the configured plugins, calls the extension points for the gateway, the service
// and the admin interface, and provides plugins with the functions of the server.
package adapter

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"example.org/app/internal/admin"
	"example.org/app/internal/config"
	"example.org/app/internal/metrics"
	"example.org/app/internal/plugin"
	"example.org/app/internal/plugin/js"
	"example.org/app/internal/plugin/js/inspector"
	"example.org/app/internal/plugin/trace"
	"example.org/app/internal/presence"
	"example.org/app/internal/recording"
	"example.org/app/internal/role"
)

// Plugins are the plugins of a process, shared by its roles.
type Plugins struct {
	*plugin.Manager
	Folder *plugin.Folder
	// Cluster manages the cluster's plugins. It is set before Start; nil means none.
	Cluster Cluster
	// Removed is called for extensions that are removed permanently. It is set before Start; it
	// may be nil.
	Removed func(p *plugin.Plugin, extension string)

	opts Options
	// debuggers is the server to which debuggers of plugins in JavaScript attach; nil until
	// needed. inspecting guards it.
	debuggers  *inspector.Server
	inspecting sync.Mutex

	// starting counts the goroutines that load and start plugins; isUp is closed when they have
	// ended, and failure is set then. waited is true once the server no longer waits for them.
	starting sync.WaitGroup
	isUp     chan struct{}
	failure  error
	waited   atomic.Bool
}

// A Cluster manages the plugins that all nodes load.
type Cluster interface {
	// ReadGrants reads the administrators' grants, before any plugin is loaded.
	ReadGrants(ctx context.Context) error
	// Start loads and starts them. The error joins those of single plugins.
	Start(ctx context.Context) error
	// Loading returns the plugins that are being loaded or started.
	Loading() []string
}

// Options configure the plugins of a process.
type Options struct {
	Roles []role.Role
	// Config is the initial configuration of the process; Settings returns the current settings of
	// plugins.
	Config   *config.Config
	Settings func() config.Plugin
	// Values returns the administrators' values of a plugin's settings; nil means none.
	Values func(pluginID string) map[string]any
	// Granted contains the administrators' grants; nil grants plugins what they request.
	Granted *plugin.Granted
	// Only is the name of the only file in the folder to load; "" means all.
	Only   string
	Server plugin.Server
	// Slots decides which process of the cluster runs schedules that run once per cluster.
	Slots    plugin.Slots
	Presence *presence.Directory
	Metrics  *metrics.Registry
	// Recorder is the flight recorder that the JVM joins; nil means none.
	Recorder *recording.Recorder
	Logger   *slog.Logger
	// HoldSchedules prevents schedules from running at their times, for tests of plugins.
	HoldSchedules bool
	// Scripts changes the options for plugins in JavaScript, for tests of plugins; nil changes
	// nothing.
	Scripts func(*js.Options)
	// Exit is called when a plugin stops the server.
	Exit func(status int)
}

// New returns the plugins of a process. No plugin is loaded before Start, so that callers can
// be created first.
func New(ctx context.Context, o Options) (*Plugins, error) {
	p := &Plugins{opts: o, isUp: make(chan struct{})}
	c := o.Config.Plugin
	opts := plugin.Options{
		Roles: o.Roles, Settings: o.Settings, Values: o.Values, Granted: o.Granted, Slots: o.Slots, HoldSchedules: o.HoldSchedules, Logger: o.Logger,
		Traces: trace.NewRecorder(o.Settings().Traces),
		Observe: func(p *plugin.Plugin, extension string, m *plugin.Method, d time.Duration, outcome string) {
			o.Metrics.Plugins().Observe(p.ID, extension, m.Point.Name, m.Name, outcome, d)
		},
		Gone: func(gone *plugin.Plugin, extension string) {
			o.Metrics.Plugins().Forget(gone.ID, extension)
			if p.Removed != nil {
				p.Removed(gone, extension)
			}
		},
	}
	if c.Enabled {
		java, err := p.newJavaHost(c.Java)
		if err != nil {
			return nil, err
		}
		script, err := p.newScriptHost(ctx, c.JavaScript, java)
		if err != nil {
			return nil, err
		}
		opts.Hosts = append(opts.Hosts, script, java)
	}
	opts.DryHost, opts.ShadowHost = p.dryHost, p.shadowHost
	p.Manager = plugin.NewManager(opts)
	p.Folder = plugin.NewFolder(p.Manager, c.Dir)
	p.Folder.Only(o.Only)
	o.Metrics.RegisterPlugins(p.readings, p.usage, p.shadows)
	return p, nil
}

// Close stops and unloads all plugins. Their callers must have stopped before.
func (p *Plugins) Close(ctx context.Context) error {
	err := p.Manager.Close(ctx)
	p.starting.Wait() // The goroutines end with the manager.
	p.inspecting.Lock()
	defer p.inspecting.Unlock()
	if p.debuggers != nil {
		err = errors.Join(err, p.debuggers.Close(ctx))
	}
	return err
}

func (p *Plugins) readings() (list []metrics.PluginReading) {
	for _, loaded := range p.Manager.Plugins() {
		for _, e := range loaded.Extensions() {
			list = append(list, metrics.PluginReading{Plugin: loaded.ID, Extension: e.Class, State: string(e.State), Queue: e.Queue, Unavailable: reasonOf(e.Quarantine)})
		}
	}
	return list
}

// reasonOf returns the constant beginning of a sentence about why an extension cannot run, because
// a metric must not have a series for each error.
func reasonOf(sentence string) string {
	if i := strings.IndexAny(sentence, ":,;0123456789"); i >= 0 {
		sentence = sentence[:i]
	}
	return strings.TrimSpace(sentence)
}

func (p *Plugins) usage() (list []metrics.PluginUsage) {
	for _, loaded := range p.Manager.Plugins() {
		list = append(list, metrics.PluginUsage{Plugin: loaded.ID, Memory: loaded.Memory(), CPU: loaded.CPU(), Allocated: loaded.Allocated()})
	}
	return list
}

// Start loads and starts the plugins concurrently. Everything that they can use must exist.
// The server must stop on an error. Start returns when ctx ends, even if a plugin is still
// being started, which Close ends.
func (p *Plugins) Start(ctx context.Context) error {
	p.failure = p.start(ctx)
	close(p.isUp)
	return p.failure
}

func (p *Plugins) start(ctx context.Context) error {
	c := p.opts.Config.Plugin
	if !c.Enabled {
		return nil
	}
	if roots := p.opts.Config.ForeignRoots(); len(roots) > 0 {
		p.opts.Logger.Info("properties for plugins", "roots", roots)
	}
	done := make(chan error, 1)
	p.starting.Go(func() { done <- p.load(ctx, c) })
	select {
	case err := <-done:
		if errors.Is(err, plugin.ErrConfiguration) || err != nil && c.AbortOnFailure && ctx.Err() == nil {
			return fmt.Errorf("load plugins: %w", err)
		}
	case <-ctx.Done():
	}
	return nil
}

// load loads and starts the downloaded plugins, those of the folder (except copies of
// downloaded ones), and those of the cluster.
func (p *Plugins) load(ctx context.Context, c config.Plugin) error {
	defer p.Folder.Listed()
	if err := p.Folder.Make(); err != nil {
		return errors.Join(plugin.ErrConfiguration, err)
	}
	if err := p.Folder.LeaveNetwork(c.Network); err != nil {
		return err
	}
	if p.Cluster != nil {
		if err := p.Cluster.ReadGrants(ctx); err != nil { // Plugins wait for the grants.
			p.opts.Logger.Warn("what is granted to plugins could not be read", "error", err)
		}
	}
	errs := make([]error, 3)
	var wg sync.WaitGroup
	wg.Go(func() { errs[0] = p.Folder.LoadNetwork(ctx, c.Network, true) })
	wg.Go(func() { errs[1] = p.Folder.Load(ctx, true) })
	if p.Cluster != nil {
		wg.Go(func() { errs[2] = p.Cluster.Start(ctx) })
	}
	wg.Wait()
	return errors.Join(errs...)
}

// Wait waits until all plugins have started or failed, up to the configured time, before the
// server serves clients. It returns the error of Start.
func (p *Plugins) Wait(ctx context.Context) error {
	timer := time.NewTimer(time.Duration(p.opts.Config.Plugin.StartTimeoutMillis) * time.Millisecond)
	defer timer.Stop()
	select {
	case <-p.isUp:
		if p.failure != nil {
			return p.failure
		}
	case <-timer.C:
		p.opts.Logger.Warn("the server serves clients although plugins are not up", "files", p.loading())
	case <-ctx.Done():
	}
	p.waited.Store(true)
	return nil
}

// Loading returns the files and cluster plugins that are being loaded or started, and whether the
// server waits for them before it serves clients.
func (p *Plugins) Loading() (files []string, waiting bool) { return p.loading(), !p.waited.Load() }

func (p *Plugins) loading() []string {
	names := p.Folder.Loading()
	if p.Cluster != nil {
		names = append(names, p.Cluster.Loading()...)
	}
	return names
}

// Watch applies changes of the folder until ctx ends, if configured.
func (p *Plugins) Watch(ctx context.Context) error {
	if c := p.opts.Config.Plugin; !c.Enabled || !c.WatchDir {
		return nil
	}
	if err := p.Folder.Watch(ctx); err != nil {
		p.opts.Logger.Error("changes of plugins will not be noticed", "error", err)
	}
	return nil
}

// Report is the result of loading the plugins at the start.
type Report struct {
	// Enabled is true if plugins are loaded, from Folder and the network.
	Enabled bool
	Folder  string
	// Loaded are names and versions with the state of their extensions; Rejected are files with the
	// reason.
	Loaded, Rejected []string
}

// Report returns the result of loading the plugins.
func (p *Plugins) Report() Report {
	r := Report{Enabled: p.opts.Config.Plugin.Enabled, Folder: p.Folder.Dir()}
	for _, loaded := range p.Manager.Plugins() {
		line := loaded.ID
		if loaded.Version != "" {
			line += " " + loaded.Version
		}
		if slices.ContainsFunc(loaded.Extensions(), func(e plugin.ExtensionInfo) bool { return e.State != plugin.Started || e.Quarantine != "" }) {
			line += " (not started, see the log)"
		}
		r.Loaded = append(r.Loaded, line)
	}
	for _, rejected := range p.Manager.Rejections.All() {
		reason := rejected.Reason
		if !strings.HasPrefix(reason, rejected.Name) {
			reason = rejected.Name + ": " + reason
		}
		r.Rejected = append(r.Rejected, reason)
	}
	return r
}

// AdminWatcher returns the watcher that reports administrators' actions at the node of a role to
// plugins.
func (p *Plugins) AdminWatcher(r role.Role) admin.Watcher { return adminWatcher{p.Manager, r} }

// adminWatcher reports administrators' actions to plugins.
type adminWatcher struct {
	manager *plugin.Manager
	role    role.Role
}

// Wants implements admin.Watcher.
func (w adminWatcher) Wants() bool { return w.manager.Calls.Has(plugin.HandleAdminAction) }

// Record implements admin.Watcher.
func (w adminWatcher) Record(ctx context.Context, r *admin.Record) {
	action := &plugin.AdminAction{
		RequestTime: r.Time, Action: r.Action, Params: r.Params, ProcessingTime: int32(r.Processing.Milliseconds()), Code: int32(r.Code),
	}
	if r.Remote.IsValid() {
		action.IP = r.Remote.String()
	}
	if r.Admin != nil {
		action.AdminID = &r.Admin.ID
	}
	ctx = plugin.ForAdminRequest(ctx, action.AdminID, r.RequestID, r.Action)
	if action.Params == nil {
		action.Params = map[string]any{}
	}
	w.manager.Calls.Tell(plugin.InRole(ctx, w.role), plugin.HandleAdminAction, action)
}

var _ admin.Watcher = adminWatcher{}
