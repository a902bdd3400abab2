// SPDX-License-Identifier: Apache-2.0

package app

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"strings"
	"sync"
	"time"

	"example.org/app/internal/admin"
	"example.org/app/internal/admin/api"
	"example.org/app/internal/apierr"
	"example.org/app/internal/config"
	"example.org/app/internal/im/administrator"
	"example.org/app/internal/im/meeting"
	"example.org/app/internal/plugin"
	"example.org/app/internal/plugin/adapter"
	"example.org/app/internal/role"
	"example.org/app/internal/service"
	"example.org/app/internal/store"
	"example.org/app/internal/wire"
)

// pluginSettings returns the current settings of plugins.
func (p *process) pluginSettings() config.Plugin { return p.live.Current().Plugin }

// used are the parts of later units that plugins use.
type used struct {
	apis     map[role.Role]*admin.API
	notifier *service.Notifier
	meetings *meeting.Directory
}

// start creates the holder of plugins before its callers.
func (p *pluginHolder) start(ctx context.Context) (err error) {
	p.peers = &peers{p.Process, p.Nodes}
	p.slots = plugin.NewSlots(p.Database.db, p.Nodes.leads)
	if p.Process.opts.Config.Plugin.Grants.Mode == config.GrantsExplicit {
		p.granted = &plugin.Granted{}
	}
	p.server = p.newServer()
	p.plugins, err = adapter.New(ctx, adapter.Options{
		Roles: p.Process.opts.Roles, Config: p.Process.opts.Config, Settings: p.Process.pluginSettings, Values: p.Settings.cluster.PluginValues, Granted: p.granted, Only: p.Process.opts.OnlyPlugin,
		Scripts: p.Process.opts.Scripts, HoldSchedules: p.Process.opts.HoldSchedules,
		Server: p.server, Slots: p.slots, Presence: p.Online.presence, Metrics: p.Measurements.registry, Recorder: p.Recordings.recorder, Logger: p.Logs.logger,
		// Plugins may stop the server.
		Exit: p.Process.exit,
	})
	if err != nil {
		return err
	}
	cancel := p.Process.live.Subscribe(func(_, now *config.Config) { p.plugins.Calls.Traces().Configure(now.Plugin.Traces) })
	p.Process.lifecycle.add(part{name: "plugins", stop: func(ctx context.Context) error {
		cancel()
		return p.plugins.Close(ctx)
	}})
	if err := p.buildCatalog(); err != nil {
		return err
	}
	if p.Process.runs(role.Service) { // Changes happen where the rules are.
		settings := func() config.PluginEvents { return p.Process.pluginSettings().Events }
		p.events = plugin.NewEvents(p.Database.db, p.plugins.Manager, func() string { return p.Nodes.forPlugins(role.Service).ID }, settings, p.Logs.logger)
		p.plugins.Removed = p.events.Removed
		store.ObserveEvents(p.Database.db, p.events)
	}
	p.Settings.cluster.UsePlugins(p.settingSchemas, p.plugins.SettingsChanged)
	return nil
}

// leads reports whether this process leads the cluster.
func (p *nodes) leads() bool {
	node := p.byRole[role.Service]
	return node != nil && node.IsLeader()
}

// settingSchemas returns the schemas of plugin settings: of the plugins loaded by this process, and
// of other plugins of the cluster.
func (p *pluginHolder) settingSchemas() map[string]*plugin.Schema {
	all := p.catalog.Schemas()
	maps.Copy(all, p.plugins.Schemas())
	return all
}

// start loads and starts the plugins, once everything that they can use exists.
func (p *plugins) start(context.Context) error {
	p.Process.lifecycle.add(part{name: "start of plugins", run: p.Held.plugins.Start})
	p.Process.lifecycle.add(part{name: "watch of plugins", run: p.Held.plugins.Watch})
	if p.Held.events != nil {
		p.Process.lifecycle.add(part{name: "events for plugins", run: p.Held.events.Run})
	}
	p.Process.lifecycle.add(part{name: "plugins of the cluster", run: p.Held.catalog.Run, stop: p.Held.catalog.Stop})
	return nil
}

// start waits for the plugins before clients are served, up to the configured time. The admin
// interface already responds.
func (p *pluginsUp) start(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	up := make(chan error, 1)
	go func() { up <- p.Held.plugins.Wait(ctx) }()
	select {
	case err := <-up:
		return err
	case <-p.Process.shutdown:
		cancel()
		return <-up
	}
}

// health returns which plugins should run and do not. The node is not ready until they run or the
// time limit ends.
func (p *pluginHolder) health(context.Context) error {
	files, waiting := p.plugins.Loading()
	what := ""
	if len(files) > 0 {
		what = "not up: " + strings.Join(files, ", ")
	}
	if waiting {
		return fmt.Errorf("plugins are starting; %s", cmp.Or(what, "all are up"))
	}
	if list := p.plugins.Unavailable(); list != "" {
		what = strings.Trim(what+"; "+list, "; ")
	}
	if what != "" {
		return api.Degraded(what)
	}
	return nil
}

// Plugins reports what plugins there are.
func (a *App) Plugins() adapter.Report { return a.units.Held.plugins.Report() }

// newServer returns the server's functions for plugins.
func (p *pluginHolder) newServer() *adapter.Server {
	// The operations are described on first use by a plugin: that takes a fifth of the start of a
	// server.
	functions := sync.OnceValues(func() ([]plugin.Operation, map[string]role.Role) { return functionsOf(p.Process.opts.Roles) })
	return &adapter.Server{
		This: p.Nodes.forPlugins, Functions: func() []plugin.Operation {
			list, _ := functions()
			return list
		},
		Properties: p.Process.opts.Config, PluginValues: p.Settings.cluster.PluginValues, Values: plugin.NewStorage(p.Database.db), Granted: p.granted,
		Invoke: func(ctx context.Context, by *admin.Principal, operation string, input json.RawMessage) (json.RawMessage, error) {
			_, owners := functions()
			owner, known := owners[operation]
			if !known {
				return nil, apierr.New(apierr.IllegalArgument, "there is no operation %q on this server", operation)
			}
			return p.used.apis[owner].Invoke(ctx, by, operation, input)
		},
		NotifyUsers: func() func(context.Context, *wire.AppRequest, []int64) error {
			if p.used.notifier == nil {
				return nil
			}
			return p.used.notifier.NotifyUsers
		},
		EndMeeting: func() func(context.Context, int64, time.Time) error {
			if p.used.meetings == nil {
				return nil
			}
			return p.used.meetings.Ended
		},
	}
}

// forPlugins returns the node of a role. If this process has none, it is the service's, if there is
// one.
func (p *nodes) forPlugins(r role.Role) plugin.Node {
	if !p.Process.runs(r) {
		r = p.Process.opts.Roles[0]
		if p.Process.runs(role.Service) {
			r = role.Service
		}
	}
	return plugin.Node{ID: p.byRole[r].ID(), Role: r, Version: version}
}

// functionsOf returns the operations that plugins may call, with the role of each.
func functionsOf(roles []role.Role) (functions []plugin.Operation, owners map[string]role.Role) {
	owners = map[string]role.Role{}
	for _, r := range roles {
		for _, f := range admin.New(apiOptions(r), operations(r, api.Common{}, api.Gateway{}, api.Service{})...).Functions() {
			if _, known := owners[f.Operation.ID]; known {
				continue // Both roles have it, with the same effect in one process.
			}
			owners[f.Operation.ID] = r
			functions = append(functions, plugin.Operation{
				Group: f.Group, Name: f.Name, ID: f.Operation.ID, Selectors: f.Selectors, All: f.All,
				Input: f.Input, Result: f.Result, Reads: f.Operation.Method == http.MethodGet,
			})
		}
	}
	return functions, owners
}

// PluginOperations are the operations of the admin interface that plugins may call on servers with
// both roles.
func PluginOperations() []plugin.Operation {
	functions, _ := functionsOf(role.All)
	return functions
}

// InvokeAsRoot runs an operation of the admin interface as the root administrator, without a
// password.
func (a *App) InvokeAsRoot(ctx context.Context, operation string, input json.RawMessage) (json.RawMessage, error) {
	return a.units.Held.server.Invoke(ctx, admin.ByRoot(administrator.RootLoginName), operation, input)
}

// PluginManager holds the plugins of the process.
func (a *App) PluginManager() *plugin.Manager { return a.units.Held.plugins.Manager }

// PluginStorage is where plugins keep small values.
func (a *App) PluginStorage() plugin.Storage { return a.units.Held.server.Values }

// PluginCheck returns how to check a plugin for servers with the roles.
func PluginCheck(roles []role.Role, c *config.Config, file string, logger *slog.Logger) adapter.CheckOptions {
	functions, _ := functionsOf(roles)
	return adapter.CheckOptions{Roles: roles, Config: c, File: file, Operations: functions, Version: version, Logger: logger}
}
