// SPDX-License-Identifier: Apache-2.0

package adapter

import (
	"context"
	"slices"
	"time"

	"google.golang.org/protobuf/proto"

	"example.org/app/internal/gateway"
	"example.org/app/internal/gateway/login"
	"example.org/app/internal/link"
	"example.org/app/internal/plugin"
	"example.org/app/internal/role"
	"example.org/app/internal/store"
	"example.org/app/internal/wire"
)

// Authenticate asks plugins whether a user may log in.
func (p *Plugins) Authenticate(ctx context.Context, r *login.Request) (login.Opinion, error) {
	if !p.Manager.Calls.Has(plugin.Authenticate) {
		return login.NoOpinion, nil
	}
	accepted, answered, err := plugin.Ask[bool](plugin.ForUser(ctx, r.UserID), p.Manager.Calls, plugin.Authenticate, &plugin.UserLoginInfo{
		Version: r.Version, UserID: r.UserID, Password: r.Password, LoggingInDeviceType: r.Device, DeviceDetails: r.DeviceDetails,
		UserStatus: r.UserStatus, Location: locationOf(r.Location), IP: r.IP.String(),
	})
	switch {
	case err != nil || !answered:
		return login.NoOpinion, err
	case accepted:
		return login.Accept, nil
	}
	return login.Refuse, nil
}

func locationOf(l *wire.UserLocation) *plugin.Location {
	if l == nil {
		return nil
	}
	out := &plugin.Location{Longitude: l.GetLongitude(), Latitude: l.GetLatitude(), Details: l.GetDetails()}
	if l.Timestamp != nil {
		t := time.UnixMilli(l.GetTimestamp()).UTC()
		out.Timestamp = &t
	}
	return out
}

// sessionOf converts a session to its form for plugins.
func sessionOf(s *gateway.Session) plugin.ClientSession {
	return plugin.ClientSession{
		ID: s.ID, Version: s.Version, UserID: s.UserID, DeviceType: s.Device, DeviceDetails: s.DeviceDetails,
		LoginDate: s.LoginDate, LoginLocation: locationOf(s.Location), IP: s.IP.String(),
	}
}

// sessionsOf converts the sessions of a user on this gateway to their form for plugins, with the
// status in the cluster.
func (p *Plugins) sessionsOf(userID int64, all []*gateway.Session) *plugin.ClientSessions {
	out := &plugin.ClientSessions{UserID: userID, UserStatus: wire.UserStatus_OFFLINE, Sessions: []plugin.ClientSession{}}
	if e, online := p.opts.Presence.Lookup(userID); online {
		out.UserStatus = e.Status
	}
	for _, s := range all {
		out.Sessions = append(out.Sessions, sessionOf(s))
	}
	return out
}

// SessionOpened reports a new session to plugins.
func (p *Plugins) SessionOpened(s *gateway.Session, all []*gateway.Session) {
	if p.Manager.Calls.Has(plugin.GoOnline) {
		opened := sessionOf(s)
		p.Manager.Calls.Tell(plugin.ForUser(context.Background(), s.UserID), plugin.GoOnline, p.sessionsOf(s.UserID, all), &opened)
	}
	p.tellOfSession("SESSION_OPENED", s)
}

// tellOfSession reports an event of a session to plugins.
func (p *Plugins) tellOfSession(kind string, s *gateway.Session) {
	if p.Manager.Calls.Has(plugin.HandleDomainEvents) {
		session, user := int64(s.ID), s.UserID
		p.Manager.Calls.TellEvents(plugin.InRole(plugin.ForUser(context.Background(), s.UserID), role.Gateway), []plugin.DomainEvent{
			{Type: kind, Date: time.Now().UTC().Truncate(time.Millisecond), UserID: &user, SessionID: &session},
		})
	}
}

// SessionClosed reports the end of a session to plugins.
func (p *Plugins) SessionClosed(s *gateway.Session, left []*gateway.Session, why gateway.CloseReason) {
	p.tellOfSession("SESSION_CLOSED", s)
	if !p.Manager.Calls.Has(plugin.GoOffline) {
		return
	}
	reason := &plugin.CloseReason{CloseStatus: int32(why.Status), Reason: why.Reason}
	if why.Code != 0 {
		code := int32(why.Code)
		reason.Code = &code
	}
	p.Manager.Calls.Tell(plugin.ForUser(context.Background(), s.UserID), plugin.GoOffline, p.sessionsOf(s.UserID, left), reason)
}

// Notified reports to plugins a notification that this gateway has delivered.
func (p *Plugins) Notified(d *link.Delivery, missed []int64) {
	if !p.Manager.Calls.Has(plugin.HandleNotification) {
		return
	}
	n := new(wire.AppNotification)
	if err := proto.Unmarshal(d.Notification, n); err != nil {
		return // It cannot be decoded.
	}
	p.Manager.Calls.Tell(context.Background(), plugin.HandleNotification, n, slices.Clone(d.Recipients), slices.Clone(missed))
}

// DecidesAboutMessagesToDelete reports whether a plugin decides which expired messages are
// deleted.
func (p *Plugins) DecidesAboutMessagesToDelete() bool {
	return p.Manager.Calls.Has(plugin.MessagesToDelete)
}

// MessagesToDelete passes expired messages to plugins, which may keep some.
func (p *Plugins) MessagesToDelete(ctx context.Context, expired []store.Message) ([]store.Message, error) {
	if !p.DecidesAboutMessagesToDelete() {
		return expired, nil
	}
	list := make([]plugin.StoredMessage, len(expired))
	for i, m := range expired {
		list[i] = plugin.StoredMessage{
			ID: m.ID, ConversationID: m.ConversationID, IsGroupMessage: m.IsGroupMessage, IsSystemMessage: m.IsSystemMessage,
			DeliveryDate: m.DeliveryDate, ModificationDate: m.ModificationDate, DeletionDate: m.DeletionDate, RecallDate: m.RecallDate,
			Text: m.Text, SenderID: m.SenderID, TargetID: m.TargetID, Records: m.Records, BurnAfter: m.BurnAfter,
			ReferenceID: m.ReferenceID, SequenceID: m.SequenceID, PreMessageID: m.PreMessageID,
		}
		if m.SenderIP.IsValid() {
			list[i].SenderIP = m.SenderIP.String()
		}
	}
	kept, err := plugin.Pass(ctx, p.Manager.Calls, plugin.MessagesToDelete, list)
	if err != nil {
		return nil, err
	}
	chosen := make(map[int64]bool, len(kept))
	for _, m := range kept {
		chosen[m.ID] = true
	}
	// Only offered messages are deleted, whatever a plugin returns.
	return slices.DeleteFunc(slices.Clone(expired), func(m store.Message) bool { return !chosen[m.ID] }), nil
}
