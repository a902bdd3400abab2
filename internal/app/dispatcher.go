// SPDX-License-Identifier: Apache-2.0

package app

import (
	"context"

	"example.org/app/internal/config"
	"example.org/app/internal/requestlog"
	"example.org/app/internal/role"
	"example.org/app/internal/service"
)

// start starts the notifications of a service.
func (p *notifier) start(context.Context) error {
	if !p.Process.runs(role.Service) {
		return nil
	}
	p.service = service.NewNotifier(p.Nodes.byRole[role.Service], p.Online.presence.Finder(), p.Logs.logger.With("role", role.Service.Name()), nil)
	p.Process.lifecycle.add(part{name: "notifier", stop: p.service.Stop})
	return nil
}

// start starts handling the requests of a service.
func (p *requests) start(context.Context) error {
	if !p.Process.runs(role.Service) {
		return nil
	}
	if err := service.ServePasswords(p.Nodes.byRole[role.Service], p.Rules.domain.users); err != nil {
		return err
	}
	// Requests end before what they need, such as the notifier, which delivers their notifications.
	p.Process.lifecycle.add(part{name: "requests", stop: p.Nodes.byRole[role.Service].Retire})
	dispatcher := service.New(service.Options{
		Node: p.Nodes.byRole[role.Service], Store: p.Database.db, Users: p.Rules.domain.users, Relationships: p.Rules.domain.relationships, Groups: p.Rules.domain.groups,
		Conversations: p.Rules.domain.conversations, Messages: p.Rules.domain.messages, Meetings: p.Rules.domain.meetings,
		Notifier: p.Notifier.service, Presence: p.Online.presence,
		Settings: func() config.Service { return p.Process.live.Current().Service }, NearbyLimits: p.Process.nearbyLimits,
		Requests: requestlog.New(p.Logs.files.Client().With("role", role.Service.Name()), derived(p.Process.live, func(c *config.Config) *requestlog.Rates {
			return requestlog.RatesOf(c.Service.ClientAPI.Logging)
		})),
		Plugins: p.Held.plugins.Calls, Logger: p.Logs.logger.With("role", role.Service.Name()),
	})
	if err := dispatcher.Serve(); err != nil {
		return err
	}
	p.Nodes.byRole[role.Service].Ready()
	return nil
}

// hasAccounts reports whether the store has the users' accounts, which it need not if another
// system authenticates them.
func (p *process) hasAccounts() bool {
	c := p.live.Current().Gateway.Session.IdentityAccessManagement
	return c.Enabled && c.Type == config.LoginPassword
}
