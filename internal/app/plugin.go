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
	"time"

	"example.org/app/internal/admin"
	"example.org/app/internal/admin/api"
	"example.org/app/internal/apierr"
	"example.org/app/internal/config"
	"example.org/app/internal/im/administrator"
	"example.org/app/internal/plugin"
	"example.org/app/internal/plugin/adapter"
	"example.org/app/internal/role"
	"example.org/app/internal/store"
	"example.org/app/internal/wire"
)

// pluginSettings returns the current settings of plugins.
func (a *App) pluginSettings() config.Plugin { return a.live.Current().Plugin }

// buildPlugins makes what holds plugins, before the parts that call them.
func (a *App) buildPlugins(ctx context.Context) (err error) {
	a.slots = plugin.NewSlots(a.store, a.leads)
	if a.opts.Config.Plugin.Grants.Mode == config.GrantsExplicit {
		a.granted = &plugin.Granted{}
	}
	a.forPlugins = a.pluginServer()
	a.plugins, err = adapter.New(ctx, adapter.Options{
		Roles: a.opts.Roles, Config: a.opts.Config, Settings: a.pluginSettings, Values: a.settings.PluginValues, Granted: a.granted, Only: a.opts.OnlyPlugin,
		Scripts: a.opts.Scripts, HoldSchedules: a.opts.HoldSchedules,
		Server: a.forPlugins, Slots: a.slots, Presence: a.presence, Metrics: a.metrics, Recorder: a.recorder, Logger: a.logger,
		// Plugins are trusted to stop the server.
		Exit: a.exit,
	})
	if err != nil {
		return err
	}
	cancel := a.live.Subscribe(func(_, now *config.Config) { a.plugins.Traces().Configure(now.Plugin.Traces) })
	a.lifecycle.add(part{name: "plugins", stop: func(ctx context.Context) error {
		cancel()
		return a.plugins.Close(ctx)
	}})
	if err := a.buildCatalog(); err != nil {
		return err
	}
	if a.runs(role.Service) { // Where the rules are, changes happen.
		settings := func() config.PluginEvents { return a.pluginSettings().Events }
		a.events = plugin.NewEvents(a.store, a.plugins.Manager, func() string { return a.pluginNode(role.Service).ID }, settings, a.logger)
		a.plugins.Removed = a.events.Removed
		store.ObserveEvents(a.store, a.events)
	}
	a.settings.UsePlugins(a.settingSchemas, a.plugins.SettingsChanged)
	return nil
}

// leads reports whether this process leads the cluster.
func (a *App) leads() bool {
	node := a.nodes[role.Service]
	return node != nil && node.IsLeader()
}

// settingSchemas are the schemas of the settings of plugins: of those that this process has loaded, and of those of the
// cluster that only others load.
func (a *App) settingSchemas() map[string]*plugin.Schema {
	all := a.catalog.Schemas()
	maps.Copy(all, a.plugins.Schemas())
	return all
}

// startPlugins lets the plugins load and start, when all that they can use is there.
func (a *App) startPlugins(context.Context) error {
	a.lifecycle.add(part{name: "start of plugins", run: a.plugins.Start})
	a.lifecycle.add(part{name: "watch of plugins", run: a.plugins.Watch})
	if a.events != nil {
		a.lifecycle.add(part{name: "events for plugins", run: a.events.Run})
	}
	a.lifecycle.add(part{name: "plugins of the cluster", run: a.catalog.Run, stop: a.catalog.Stop})
	return nil
}

// awaitPlugins waits for the plugins before clients are served, as long as the configuration says. The admin interface
// answers meanwhile.
func (a *App) awaitPlugins(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	up := make(chan error, 1)
	go func() { up <- a.plugins.Wait(ctx) }()
	select {
	case err := <-up:
		return err
	case <-a.shutdown:
		cancel()
		return <-up
	}
}

// pluginHealth says which plugins should run and do not. The node is not ready while it waits for them; then it serves
// all the same.
func (a *App) pluginHealth(context.Context) error {
	files, waiting := a.plugins.Loading()
	what := ""
	if len(files) > 0 {
		what = "not up: " + strings.Join(files, ", ")
	}
	if waiting {
		return fmt.Errorf("plugins are starting; %s", cmp.Or(what, "all are up"))
	}
	if list := a.plugins.Unavailable(); list != "" {
		what = strings.Trim(what+"; "+list, "; ")
	}
	if what != "" {
		return api.Degraded(what)
	}
	return nil
}

// Plugins reports what plugins there are.
func (a *App) Plugins() adapter.Report { return a.plugins.Report() }

// pluginServer is what plugins can use of this process.
func (a *App) pluginServer() *adapter.Server {
	functions, owners := functionsOf(a.opts.Roles)
	return &adapter.Server{
		This: a.pluginNode, Functions: functions, Properties: a.opts.Config, PluginValues: a.settings.PluginValues, Values: plugin.NewStorage(a.store), Granted: a.granted,
		Invoke: func(ctx context.Context, by *admin.Principal, operation string, input json.RawMessage) (json.RawMessage, error) {
			owner, known := owners[operation]
			if !known {
				return nil, apierr.New(apierr.IllegalArgument, "there is no operation %q on this server", operation)
			}
			return a.apis[owner].Invoke(ctx, by, operation, input)
		},
		NotifyUsers: func() func(context.Context, *wire.AppRequest, []int64) error {
			if a.notifier == nil {
				return nil
			}
			return a.notifier.NotifyUsers
		},
		EndMeeting: func() func(context.Context, int64, time.Time) error {
			if a.domain.meetings == nil {
				return nil
			}
			return a.domain.meetings.Ended
		},
	}
}

// pluginNode is the node of a role. Without one of this process it is the service, if there is one.
func (a *App) pluginNode(r role.Role) plugin.Node {
	if !a.runs(r) {
		r = a.opts.Roles[0]
		if a.runs(role.Service) {
			r = role.Service
		}
	}
	return plugin.Node{ID: a.nodes[r].ID(), Role: r, Version: version}
}

// functionsOf returns the operations of roles that plugins may call, and which role has each.
func functionsOf(roles []role.Role) (functions []plugin.Operation, owners map[string]role.Role) {
	owners = map[string]role.Role{}
	for _, r := range roles {
		for _, f := range admin.New(apiOptions(r), operations(r, api.Common{}, api.Gateway{}, api.Service{})...).Functions() {
			if _, known := owners[f.Operation.ID]; known {
				continue // Both roles have it, and in one process it does the same.
			}
			owners[f.Operation.ID] = r
			functions = append(functions, plugin.Operation{Group: f.Group, Name: f.Name, ID: f.Operation.ID, Input: f.Input, Result: f.Result, Reads: f.Operation.Method == http.MethodGet})
		}
	}
	return functions, owners
}

// PluginOperations are the operations of the admin interface that plugins may call on servers with both roles.
func PluginOperations() []plugin.Operation {
	functions, _ := functionsOf(role.All)
	return functions
}

// InvokeAsRoot carries out an operation of the admin interface as the root administrator does, whose password nobody asks for.
func (a *App) InvokeAsRoot(ctx context.Context, operation string, input json.RawMessage) (json.RawMessage, error) {
	return a.forPlugins.Invoke(ctx, admin.ByRoot(administrator.RootLoginName), operation, input)
}

// PluginManager holds the plugins of the process.
func (a *App) PluginManager() *plugin.Manager { return a.plugins.Manager }

// PluginStorage is where plugins keep small values.
func (a *App) PluginStorage() plugin.Storage { return a.forPlugins.Values }

// PluginCheck says how a plugin is checked for servers with the roles.
func PluginCheck(roles []role.Role, c *config.Config, file string, logger *slog.Logger) adapter.CheckOptions {
	functions, _ := functionsOf(roles)
	return adapter.CheckOptions{Roles: roles, Config: c, File: file, Operations: functions, Version: version, Logger: logger}
}
