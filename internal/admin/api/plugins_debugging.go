// SPDX-License-Identifier: Apache-2.0

package api

import (
	"context"
	"net/http"
	"slices"

	"example.org/app/internal/admin"
	"example.org/app/internal/apierr"
	"example.org/app/internal/audit"
	"example.org/app/internal/permission"
	"example.org/app/internal/plugin"
	"example.org/app/internal/store"
)

func debugOperations(h pluginHandlers) []*admin.Operation {
	return []*admin.Operation{
		admin.Handle(admin.Operation{
			ID: "queryPluginDebugging", Method: http.MethodGet, Path: "/plugins/debugging", Tag: pluginTag, Permission: permission.PluginDebug,
			Summary:     "List plugins that can be debugged",
			Description: "Lists the JavaScript plugins of this node that debuggers can attach to, and where. Unknown ids and other plugins are skipped.",
		}, h.queryDebugging),
		admin.Handle(admin.Operation{
			ID: "updatePluginDebugging", Method: http.MethodPut, Path: "/plugins/debugging", Tag: pluginTag, Permission: permission.PluginDebug,
			Summary: "Let debuggers attach to a plugin, or no longer",
			Description: "Reloads a JavaScript plugin of this node, in its current state and without losing a call, so that Chrome, Node.js and other clients of the Chrome DevTools Protocol can attach to it. " +
				"It does not wait for a debugger and runs normally, only slower, until a debugger stops it; calls of other plugins never wait. Debuggers attach on the machine of the node only (app.plugin.js.debug.inspect-port). " +
				"It lasts until it is switched off or the plugin is replaced. Whoever debugs a plugin can do everything that the plugin can.",
			Errors: []apierr.Code{apierr.ResourceNotFound},
		}, h.updateDebugging),
	}
}

type debuggingRecord struct {
	PluginID   string `json:"pluginId" doc:"Id of the plugin." example:"word-filter"`
	Enabled    bool   `json:"enabled" doc:"Whether debuggers can attach to it."`
	Configured bool   `json:"configured" doc:"Whether debugging is enabled by app.plugin.js.debug.enabled. Then its calls wait for a debugger, and debugging cannot be disabled."`
	Address    string `json:"address,omitempty" doc:"Address for debuggers, on the machine of this node." example:"ws://127.0.0.1:24242/d498b820-0000-4000-8000-000000000000"`
	Link       string `json:"link,omitempty" doc:"Link for the address bar of Chrome on that machine."`
}

func newDebuggingRecord(p *plugin.Plugin) debuggingRecord {
	d := p.Debugger()
	return debuggingRecord{PluginID: p.ID, Enabled: d.Address != "", Configured: d.Configured, Address: d.Address, Link: d.Link}
}

type debuggingQuery struct {
	IDs []string `query:"ids" uniqueItems:"true" doc:"Ids of plugins; empty means all." example:"word-filter"`
}

func (h pluginHandlers) queryDebugging(_ context.Context, in *debuggingQuery) ([]debuggingRecord, error) {
	var list []debuggingRecord
	for _, p := range h.Manager.Plugins() {
		if r := newDebuggingRecord(p); r.Enabled && (len(in.IDs) == 0 || slices.Contains(in.IDs, p.ID)) {
			list = append(list, r)
		}
	}
	return list, nil
}

type debuggingUpdate struct {
	ID   string `query:"id" required:"true" doc:"Id of the plugin." example:"word-filter"`
	Body debuggingSwitch
}

type debuggingSwitch struct {
	Enabled bool `json:"enabled" required:"true" doc:"Whether debuggers can attach to it."`
}

func (h pluginHandlers) updateDebugging(ctx context.Context, in *debuggingUpdate) (debuggingRecord, error) {
	before := false
	if p, ok := h.Manager.Find(in.ID); ok {
		before = newDebuggingRecord(p).Enabled
	}
	p, err := h.Manager.Debug(plugin.ForAdmin(ctx, admin.Requester(ctx).ID), in.ID, in.Body.Enabled)
	if err != nil {
		return debuggingRecord{}, err
	}
	after := newDebuggingRecord(p)
	if before != after.Enabled {
		audit.Note(ctx, store.Change{
			Record: auditedPlugin, Action: store.ActionUpdate, Key: store.Values{{Name: "id", Value: p.ID}},
			Before: store.Values{{Name: "debugging", Value: before}}, After: store.Values{{Name: "debugging", Value: after.Enabled}},
		})
	}
	return after, nil
}
