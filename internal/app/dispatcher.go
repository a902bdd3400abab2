// SPDX-License-Identifier: Apache-2.0

package app

import (
	"context"

	"example.org/app/internal/config"
	"example.org/app/internal/requestlog"
	"example.org/app/internal/role"
	"example.org/app/internal/service"
)

// startNotifier lets a service tell users of what others do.
func (a *App) startNotifier(context.Context) error {
	if !a.runs(role.Service) {
		return nil
	}
	a.notifier = service.NewNotifier(a.nodes[role.Service], a.presence, a.logger.With("role", role.Service.Name()), nil)
	a.lifecycle.add(part{name: "notifier", stop: a.notifier.Stop})
	return nil
}

// startDispatcher lets a service answer the requests that gateways pass on.
func (a *App) startDispatcher(context.Context) error {
	if !a.runs(role.Service) {
		return nil
	}
	if err := service.ServePasswords(a.nodes[role.Service], a.domain.users); err != nil {
		return err
	}
	// Requests end before what they need, such as the notifier, which delivers what they have begun.
	a.lifecycle.add(part{name: "requests", stop: a.nodes[role.Service].Retire})
	return service.New(service.Options{
		Node: a.nodes[role.Service], Store: a.store, Users: a.domain.users, Relationships: a.domain.relationships, Groups: a.domain.groups,
		Conversations: a.domain.conversations, Messages: a.domain.messages, Meetings: a.domain.meetings,
		Notifier: a.notifier, Presence: a.presence,
		Settings: func() config.Service { return a.live.Current().Service }, NearbyLimits: a.nearbyLimits,
		Requests: requestlog.New(a.logs.Client().With("role", role.Service.Name()), derived(a.live, func(c *config.Config) *requestlog.Rates {
			return requestlog.RatesOf(c.Service.ClientAPI.Logging)
		})),
		Plugins: a.plugins.Manager, Logger: a.logger.With("role", role.Service.Name()),
	}).Serve()
}

// hasAccounts reports whether users are known to the store: where others say who
// may log in, nothing is known of them.
func (a *App) hasAccounts() bool {
	c := a.live.Current().Gateway.Session.IdentityAccessManagement
	return c.Enabled && c.Type == config.LoginPassword
}
