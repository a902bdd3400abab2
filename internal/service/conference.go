// SPDX-License-Identifier: Apache-2.0

package service

import (
	"context"
	"slices"

	"example.org/app/internal/apierr"
	"example.org/app/internal/im/meeting"
	"example.org/app/internal/plugin"
	"example.org/app/internal/store"
)

// A Conference lets a plugin hold meetings: it is the Provider of package meeting.
type Conference struct {
	// Plugins returns the plugins; nil means none.
	Plugins func() *plugin.Calls
}

// has returns the plugins if one of them implements a function.
func (c Conference) has(m *plugin.Method) (*plugin.Calls, bool) {
	plugins := c.Plugins()
	return plugins, has(plugins, m)
}

// Available implements meeting.Provider.
func (c Conference) Available() bool {
	plugins := c.Plugins()
	return plugins != nil && (plugins.HasAny(plugin.ConferenceServiceProvider) || slices.ContainsFunc(plugin.ConferenceServiceProvider.Methods, plugins.Has))
}

// access asks the plugin for the access data of a meeting.
func (c Conference) access(ctx context.Context, m *plugin.Method, args ...any) (string, error) {
	plugins, ok := c.has(m)
	if !ok {
		return "", notImplemented(m)
	}
	access, ok, err := plugin.Ask[*plugin.MeetingAccess](forRequester(ctx, args), plugins, m, args...)
	if err != nil || !ok || access == nil {
		return "", err
	}
	return access.AccessToken, nil
}

// notImplemented returns the error for a function that the plugin does not implement.
func notImplemented(m *plugin.Method) error {
	return apierr.New(apierr.ConferenceNotImplemented, "no plugin of this server has %s.%s", m.Point.Name, m.Name)
}

// Create implements meeting.Provider.
func (c Conference) Create(ctx context.Context, requesterID int64, m store.Meeting, l meeting.Limits) (string, error) {
	idle := l.IdleTimeout.Milliseconds()
	return c.access(ctx, plugin.CreateMeeting, requesterID, &plugin.Meeting{
		ID: m.ID, CreatorID: m.CreatorID, UserID: m.UserID, GroupID: m.GroupID, Name: m.Name, Intro: m.Intro, Password: m.Password,
		CreationDate: m.CreationDate, StartDate: m.StartDate, EndDate: m.EndDate, CancelDate: m.CancelDate,
	}, &plugin.CreateMeetingOptions{MaxParticipants: &l.MaxParticipants, IdleTimeoutMillis: &idle})
}

// Cancel implements meeting.Provider.
func (c Conference) Cancel(ctx context.Context, requesterID, meetingID int64) error {
	plugins, ok := c.has(plugin.CancelMeeting)
	if !ok {
		return notImplemented(plugin.CancelMeeting)
	}
	_, err := plugins.Run(plugin.ForUser(ctx, requesterID), plugin.CancelMeeting, requesterID, meetingID)
	return err
}

// CountActive implements meeting.Provider.
func (c Conference) CountActive(ctx context.Context, userID int64) (n int32, known bool, err error) {
	plugins, ok := c.has(plugin.CountActiveMeetings)
	if !ok {
		return 0, false, nil
	}
	return plugin.Ask[int32](plugin.ForUser(ctx, userID), plugins, plugin.CountActiveMeetings, userID)
}

// Accept implements meeting.Provider.
func (c Conference) Accept(ctx context.Context, requesterID, meetingID int64) (string, error) {
	return c.access(ctx, plugin.AcceptMeetingInvitation, requesterID, meetingID)
}

var _ meeting.Provider = Conference{}
