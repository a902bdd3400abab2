// SPDX-License-Identifier: Apache-2.0

package adapter

import (
	"context"
	"encoding/json"
	"time"

	"example.org/app/internal/admin"
	"example.org/app/internal/apierr"
	"example.org/app/internal/config"
	"example.org/app/internal/plugin"
	"example.org/app/internal/role"
	"example.org/app/internal/wire"
)

// A Server provides the functions of a process to plugins. It is created before the parts that
// it uses, which exist when the first plugin is started; therefore it has functions that
// return them.
type Server struct {
	// This returns the node of a role, or the default node if the process does not have the role.
	This func(r role.Role) plugin.Node
	// Functions returns the operations of all roles of the process, and Invoke calls one of them.
	// Functions is called on first use.
	Functions  func() []plugin.Operation
	Invoke     func(ctx context.Context, by *admin.Principal, operation string, input json.RawMessage) (json.RawMessage, error)
	Properties *config.Config
	// NotifyUsers and EndMeeting are functions of the service role; without it they return nil.
	NotifyUsers func() func(ctx context.Context, n *wire.AppRequest, recipients []int64) error
	EndMeeting  func() func(ctx context.Context, meetingID int64, at time.Time) error
	Values      plugin.Storage
	// Granted contains the administrators' grants; nil grants plugins what they request.
	Granted *plugin.Granted
	// PluginValues returns the administrators' values of a plugin's settings.
	PluginValues func(pluginID string) map[string]any
}

// Node implements plugin.Server.
func (s *Server) Node(r role.Role) plugin.Node { return s.This(r) }

// Operations implements plugin.Server.
func (s *Server) Operations() []plugin.Operation { return s.Functions() }

// Call implements plugin.Server.
func (s *Server) Call(ctx context.Context, by plugin.Descriptor, operation string, input json.RawMessage) (json.RawMessage, error) {
	p := admin.ByPlugin(by.ID, by.Version, plugin.OnBehalfOf(ctx))
	if s.Properties.Plugin.Grants.Mode != config.GrantsOpen {
		if err := s.Granted.Waits(by); err != nil {
			return nil, &apierr.Error{Code: apierr.Unauthorized, Reason: err.Error(), Err: err}
		}
		p.Permissions = by.Requested.PermissionSet()
	}
	return s.Invoke(plugin.WithCaller(ctx, by.ID), p, operation, input)
}

// Config implements plugin.Server.
func (s *Server) Config(prefix string) (map[string]any, error) {
	return s.Properties.Foreign(prefix)
}

// Settings implements plugin.Server.
func (s *Server) Settings(by plugin.Descriptor) (map[string]any, error) {
	return plugin.SettingsOf(by, s.PluginValues(by.ID))
}

// Notify implements plugin.Server.
func (s *Server) Notify(ctx context.Context, _ plugin.Descriptor, n plugin.Notification) error {
	notify := s.NotifyUsers()
	if notify == nil {
		return apierr.New(apierr.ServerUnavailable, "this server has no service role: only services notify users")
	}
	return notify(ctx, n.Notification, n.Recipients)
}

// MeetingEnded implements plugin.Server.
func (s *Server) MeetingEnded(ctx context.Context, _ plugin.Descriptor, meetingID int64, at time.Time) error {
	end := s.EndMeeting()
	if end == nil {
		return apierr.New(apierr.ServerUnavailable, "this server has no service role: only services know meetings")
	}
	return end(ctx, meetingID, at)
}

// Storage implements plugin.Server.
func (s *Server) Storage() plugin.Storage { return s.Values }

var _ plugin.Server = (*Server)(nil)
