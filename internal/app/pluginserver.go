// SPDX-License-Identifier: Apache-2.0

package app

import (
	"context"
	"encoding/json"
	"time"

	"example.org/app/internal/admin"
	"example.org/app/internal/admin/api"
	"example.org/app/internal/apierr"
	"example.org/app/internal/plugin"
	"example.org/app/internal/role"
)

// pluginServer is what plugins can use of this process. It is made before the parts that it leads to, which are there
// when the first plugin is started.
type pluginServer struct {
	app *App
	// functions are the operations of all roles of the process, and owners the roles that have them.
	functions []plugin.Operation
	owners    map[string]role.Role
	storage   plugin.Storage
}

func (a *App) pluginServer() *pluginServer {
	s := &pluginServer{app: a, storage: plugin.NewStorage(a.store)}
	s.functions, s.owners = functionsOf(a.opts.Roles)
	return s
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
			functions = append(functions, plugin.Operation{Group: f.Group, Name: f.Name, ID: f.Operation.ID, Input: f.Input, Result: f.Result})
		}
	}
	return functions, owners
}

// Node implements plugin.Server.
func (s *pluginServer) Node() plugin.Node {
	r := s.app.opts.Roles[0]
	if s.app.runs(role.Service) {
		r = role.Service
	}
	return plugin.Node{ID: s.app.nodes[r].ID(), Role: r, Version: version}
}

// Operations implements plugin.Server.
func (s *pluginServer) Operations() []plugin.Operation { return s.functions }

// Call implements plugin.Server.
func (s *pluginServer) Call(ctx context.Context, by plugin.Descriptor, operation string, input json.RawMessage) (json.RawMessage, error) {
	r, known := s.owners[operation]
	if !known {
		return nil, apierr.New(apierr.IllegalArgument, "there is no operation %q on this server", operation)
	}
	return s.app.apis[r].Invoke(ctx, admin.ByPlugin(by.ID), operation, input)
}

// Config implements plugin.Server.
func (s *pluginServer) Config(prefix string) (map[string]any, error) {
	return s.app.opts.Config.Foreign(prefix)
}

// Notify implements plugin.Server.
func (s *pluginServer) Notify(ctx context.Context, _ plugin.Descriptor, n plugin.Notification) error {
	if s.app.notifier == nil {
		return apierr.New(apierr.ServerUnavailable, "this server has no service role: only services notify users")
	}
	return s.app.notifier.NotifyUsers(ctx, n.Notification, n.Recipients)
}

// MeetingEnded implements plugin.Server.
func (s *pluginServer) MeetingEnded(ctx context.Context, _ plugin.Descriptor, meetingID int64, at time.Time) error {
	if s.app.domain.meetings == nil {
		return apierr.New(apierr.ServerUnavailable, "this server has no service role: only services know meetings")
	}
	return s.app.domain.meetings.Ended(ctx, meetingID, at)
}

// Storage implements plugin.Server.
func (s *pluginServer) Storage() plugin.Storage { return s.storage }

var _ plugin.Server = (*pluginServer)(nil)
