// SPDX-License-Identifier: Apache-2.0

// Package adapter joins plugins to the roles: it makes the hosts and the manager of a process, loads and starts what is
// configured, calls the extension points for the gateway, the service and the admin interface, and gives plugins what
// they can use of the server.
package adapter

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"example.org/app/internal/admin"
	"example.org/app/internal/config"
	"example.org/app/internal/metrics"
	"example.org/app/internal/plugin"
	"example.org/app/internal/plugin/js/inspector"
	"example.org/app/internal/presence"
	"example.org/app/internal/recording"
	"example.org/app/internal/role"
)

// Plugins are the plugins of a process, shared by its roles.
type Plugins struct {
	*plugin.Manager
	Folder *plugin.Folder

	opts      Options
	debuggers *inspector.Server
}

// Options say how plugins are joined to a process.
type Options struct {
	Roles []role.Role
	// Config is what the process was started with; Settings returns the current settings of plugins.
	Config   *config.Config
	Settings func() config.Plugin
	// Only is the name of the one file in the folder that is loaded; "" is all.
	Only     string
	Server   plugin.Server
	Presence *presence.Directory
	Metrics  *metrics.Registry
	// Recorder is whose recordings the JVM takes part in; nil is none.
	Recorder *recording.Recorder
	Logger   *slog.Logger
	// Exit is called when a plugin asks to end the server.
	Exit func()
}

// New makes what holds plugins. Nothing is loaded before Start, so that the parts which call plugins can be built.
func New(ctx context.Context, o Options) (*Plugins, error) {
	p := &Plugins{opts: o}
	c := o.Config.Plugin
	opts := plugin.Options{
		Roles: o.Roles, Settings: o.Settings, Logger: o.Logger,
		Observe: func(p *plugin.Plugin, extension string, m *plugin.Method, d time.Duration, outcome string) {
			o.Metrics.Plugins().Observe(p.ID, extension, m.Point.Name, m.Name, outcome, d)
		},
		Gone: func(p *plugin.Plugin, extension string) { o.Metrics.Plugins().Forget(p.ID, extension) },
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
	p.Manager = plugin.NewManager(opts)
	p.Folder = plugin.NewFolder(p.Manager, c.Dir)
	p.Folder.Only(o.Only)
	o.Metrics.RegisterPlugins(p.readings, func(emit func(float64, string)) {
		for _, p := range p.Manager.Plugins() {
			if bytes := p.Memory(); bytes > 0 {
				emit(float64(bytes), p.ID)
			}
		}
	})
	return p, nil
}

// Close stops and unloads all plugins. Whoever calls plugins must have stopped before.
func (p *Plugins) Close(ctx context.Context) error {
	err := p.Manager.Close(ctx)
	if p.debuggers != nil {
		err = errors.Join(err, p.debuggers.Close(ctx))
	}
	return err
}

func (p *Plugins) readings() (list []metrics.PluginReading) {
	for _, loaded := range p.Manager.Plugins() {
		for _, e := range loaded.Extensions() {
			list = append(list, metrics.PluginReading{Plugin: loaded.ID, Extension: e.Class, State: string(e.State), Queue: e.Queue, Unavailable: e.Quarantine != ""})
		}
	}
	return list
}

// Start loads the plugins and starts them, when all that they can use is there and before anybody is answered.
func (p *Plugins) Start(ctx context.Context) error {
	c := p.opts.Config.Plugin
	if !c.Enabled {
		return nil
	}
	if roots := p.opts.Config.ForeignRoots(); len(roots) > 0 {
		p.opts.Logger.Info("properties for plugins", "roots", roots)
	}
	err := p.load(ctx, c)
	if errors.Is(err, plugin.ErrConfiguration) || err != nil && c.AbortOnFailure {
		return fmt.Errorf("load plugins: %w", err)
	}
	if err := p.startAll(ctx); err != nil && c.AbortOnFailure {
		return err
	}
	return nil
}

// load loads from the network first, so that the folder passes over the copies of those plugins.
func (p *Plugins) load(ctx context.Context, c config.Plugin) error {
	if err := p.Folder.Make(); err != nil {
		return errors.Join(plugin.ErrConfiguration, err)
	}
	return errors.Join(p.Folder.LoadNetwork(ctx, c.Network), p.Folder.Load(ctx))
}

// Watch follows changes of the folder until ctx ends, if the configuration says so.
func (p *Plugins) Watch(ctx context.Context) error {
	if c := p.opts.Config.Plugin; !c.Enabled || !c.WatchDir {
		return nil
	}
	if err := p.Folder.Watch(ctx); err != nil {
		p.opts.Logger.Error("changes of plugins will not be noticed", "error", err)
	}
	return nil
}

// startAll starts everything that is loaded, all at the same time. The error names what could not be started.
func (p *Plugins) startAll(ctx context.Context) error {
	list := p.Manager.Plugins()
	errs := make([]error, len(list))
	var wg sync.WaitGroup
	for i, loaded := range list {
		wg.Go(func() {
			for _, s := range p.Manager.Do(ctx, loaded, plugin.Start) {
				if s.Err != nil {
					errs[i] = errors.Join(errs[i], fmt.Errorf("start extension %q of plugin %q: %w", s.Extension, loaded.ID, s.Err))
				}
			}
		})
	}
	wg.Wait()
	return errors.Join(errs...)
}

// Report says what became of the plugins at the start.
type Report struct {
	// Enabled says whether plugins are loaded at all, from Folder and the network.
	Enabled bool
	Folder  string
	// Loaded are names and versions with the state of their extensions; Rejected are files with the reason.
	Loaded, Rejected []string
}

// Report reports what plugins there are.
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
	for _, rejected := range p.Manager.Rejected() {
		reason := rejected.Reason
		if !strings.HasPrefix(reason, rejected.Name) {
			reason = rejected.Name + ": " + reason
		}
		r.Rejected = append(r.Rejected, reason)
	}
	return r
}

// AdminWatcher returns what tells plugins what administrators do.
func (p *Plugins) AdminWatcher() admin.Watcher { return adminWatcher{p.Manager} }

// adminWatcher tells plugins what administrators do.
type adminWatcher struct{ manager *plugin.Manager }

// Wants implements admin.Watcher.
func (w adminWatcher) Wants() bool { return w.manager.Has(plugin.HandleAdminAction) }

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
	if action.Params == nil {
		action.Params = map[string]any{}
	}
	w.manager.Tell(ctx, plugin.HandleAdminAction, action)
}

var _ admin.Watcher = adminWatcher{}
