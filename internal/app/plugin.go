// SPDX-License-Identifier: Apache-2.0

package app

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"example.org/app/internal/admin"
	"example.org/app/internal/admin/api"
	"example.org/app/internal/config"
	"example.org/app/internal/metrics"
	"example.org/app/internal/plugin"
	"example.org/app/internal/plugin/java/remote"
	"example.org/app/internal/plugin/js"
	"example.org/app/internal/plugin/js/inspector"
)

// plugins are the plugins of the process, shared by its roles.
type plugins struct {
	manager *plugin.Manager
	folder  *plugin.Folder
}

// pluginSettings returns the current settings of plugins.
func (a *App) pluginSettings() config.Plugin { return a.live.Current().Plugin }

// buildPlugins makes what holds plugins. Nothing is loaded yet, so that the parts which call plugins can be built.
func (a *App) buildPlugins(ctx context.Context) (err error) {
	c := a.opts.Config.Plugin
	opts := plugin.Options{
		Roles: a.opts.Roles, Settings: a.pluginSettings, Logger: a.logger,
		Observe: func(p *plugin.Plugin, extension string, m *plugin.Method, d time.Duration, outcome string) {
			a.metrics.Plugins().Observe(p.ID, extension, m.Point.Name, m.Name, outcome, d)
		},
		Gone: func(p *plugin.Plugin, extension string) { a.metrics.Plugins().Forget(p.ID, extension) },
	}
	if c.Enabled {
		javaHost, err := a.newJavaHost(c.Java)
		if err != nil {
			return err
		}
		host, err := a.newScriptHost(ctx, c.JavaScript, javaHost)
		if err != nil {
			return err
		}
		opts.Hosts = append(opts.Hosts, host, javaHost)
	}
	a.plugins.manager = plugin.NewManager(opts)
	a.plugins.folder = plugin.NewFolder(a.plugins.manager, c.Dir)
	a.plugins.folder.Only(a.opts.OnlyPlugin)
	// Whoever calls plugins is started later and so stopped before.
	a.lifecycle.add(part{name: "plugins", stop: a.plugins.manager.Close})
	a.metrics.RegisterPlugins(a.pluginReadings, func(emit func(float64, string)) {
		for _, p := range a.plugins.manager.Plugins() {
			if bytes := p.Memory(); bytes > 0 {
				emit(float64(bytes), p.ID)
			}
		}
	})
	return nil
}

// newScriptHost runs plugins in JavaScript, which can use classes of Java.
func (a *App) newScriptHost(ctx context.Context, c config.JavaScriptPlugins, java remote.Host) (plugin.Host, error) {
	opts := js.Options{Points: plugin.Points, Log: a.logger, MemoryLimit: c.MemoryLimit, StackSize: c.StackSize, Server: a.pluginServer(), Java: java}
	if c.Debug.Enabled {
		debuggers, err := inspector.Listen(ctx, inspector.Options{Host: c.Debug.InspectHost, Port: int(c.Debug.InspectPort), Log: a.logger})
		if err != nil {
			return nil, err
		}
		a.lifecycle.add(part{name: "debuggers of plugins", stop: debuggers.Close})
		opts.Inspector = debuggers
	}
	return js.New(opts)
}

func (a *App) pluginReadings() (list []metrics.PluginReading) {
	for _, p := range a.plugins.manager.Plugins() {
		for _, e := range p.Extensions() {
			list = append(list, metrics.PluginReading{Plugin: p.ID, Extension: e.Class, State: string(e.State), Queue: e.Queue})
		}
	}
	return list
}

// startPlugins loads the plugins and starts them, when all that they can use is there and before anybody is answered.
func (a *App) startPlugins(ctx context.Context) error {
	c := a.opts.Config.Plugin
	if !c.Enabled {
		return nil
	}
	if roots := a.opts.Config.ForeignRoots(); len(roots) > 0 {
		a.logger.Info("properties for plugins", "roots", roots)
	}
	err := a.loadPlugins(ctx, c)
	if errors.Is(err, plugin.ErrConfiguration) || err != nil && c.AbortOnFailure {
		return fmt.Errorf("load plugins: %w", err)
	}
	if err := a.plugins.startAll(ctx); err != nil && c.AbortOnFailure {
		return err
	}
	if c.WatchDir {
		a.lifecycle.add(part{name: "watch of plugins", run: func(ctx context.Context) error {
			if err := a.plugins.folder.Watch(ctx); err != nil {
				a.logger.Error("changes of plugins will not be noticed", "error", err)
			}
			return nil
		}})
	}
	return nil
}

// loadPlugins loads from the network first, so that the folder passes over the copies of those plugins.
func (a *App) loadPlugins(ctx context.Context, c config.Plugin) error {
	if err := a.plugins.folder.Make(); err != nil {
		return errors.Join(plugin.ErrConfiguration, err)
	}
	return errors.Join(a.plugins.folder.LoadNetwork(ctx, c.Network), a.plugins.folder.Load(ctx))
}

// startAll starts everything that is loaded, all at the same time. The error names what could not be started.
func (p *plugins) startAll(ctx context.Context) error {
	list := p.manager.Plugins()
	errs := make([]error, len(list))
	var wg sync.WaitGroup
	for i, loaded := range list {
		wg.Go(func() {
			for _, s := range p.manager.Do(ctx, loaded, plugin.Start) {
				if s.Err != nil {
					errs[i] = errors.Join(errs[i], fmt.Errorf("start extension %q of plugin %q: %w", s.Extension, loaded.ID, s.Err))
				}
			}
		})
	}
	wg.Wait()
	return errors.Join(errs...)
}

// administration is what the operations on plugins work on.
func (p *plugins) administration(settings func() config.Plugin) api.Plugins {
	return api.Plugins{Manager: p.manager, Folder: p.folder, Settings: settings}
}

// PluginReport says what became of the plugins at the start.
type PluginReport struct {
	// Enabled says whether plugins are loaded at all, from Folder and the network.
	Enabled bool
	Folder  string
	// Loaded are names and versions with the state of their extensions; Rejected are files with the reason.
	Loaded, Rejected []string
}

// Plugins reports what plugins there are.
func (a *App) Plugins() PluginReport {
	r := PluginReport{Enabled: a.opts.Config.Plugin.Enabled, Folder: a.plugins.folder.Dir()}
	for _, p := range a.plugins.manager.Plugins() {
		line := p.ID
		if p.Version != "" {
			line += " " + p.Version
		}
		if slices.ContainsFunc(p.Extensions(), func(e plugin.ExtensionInfo) bool { return e.State != plugin.Started }) {
			line += " (not started, see the log)"
		}
		r.Loaded = append(r.Loaded, line)
	}
	for _, rejected := range a.plugins.manager.Rejected() {
		reason := rejected.Reason
		if !strings.HasPrefix(reason, rejected.Name) {
			reason = rejected.Name + ": " + reason
		}
		r.Rejected = append(r.Rejected, reason)
	}
	return r
}

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
