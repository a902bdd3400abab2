// SPDX-License-Identifier: Apache-2.0

package app

import (
	"context"

	"example.org/app/internal/admin/api"
	"example.org/app/internal/cluster"
	"example.org/app/internal/config"
	"example.org/app/internal/ids"
	"example.org/app/internal/im/conversation"
	"example.org/app/internal/im/group"
	"example.org/app/internal/im/meeting"
	"example.org/app/internal/im/message"
	"example.org/app/internal/im/relationship"
	"example.org/app/internal/im/user"
	"example.org/app/internal/password"
	"example.org/app/internal/plugin"
	"example.org/app/internal/role"
	"example.org/app/internal/service"
	"example.org/app/internal/store"
)

// domain are the parts that hold the rules of instant messaging.
type domain struct {
	users         *user.Directory
	relationships *relationship.Directory
	groups        *group.Directory
	conversations *conversation.Directory
	messages      *message.Directory
	meetings      *meeting.Directory
}

// startDomain builds the rules of a service node.
func (a *App) startDomain(ctx context.Context) (err error) {
	if !a.runs(role.Service) {
		return nil
	}
	d := &a.domain
	generator, counters := a.nodes[role.Service].IDs(), a.metrics.Service()
	settings := func() *config.Service { return &a.live.Current().Service }
	userSettings := func() config.User { return settings().User }
	d.relationships = relationship.New(relationship.Options{Store: a.store, IDs: generator, Settings: userSettings})
	d.users = a.newUsers(generator)
	d.groups, err = group.New(ctx, group.Options{
		Store: a.store, IDs: generator, Users: d.users, Settings: func() config.Group { return settings().Group },
		OnDelete: []func(context.Context, store.Tx, []int64) error{conversation.DeleteOfGroups, message.DeleteOfGroups, meeting.DeleteOfGroups},
		Created:  func(n int) { counters.GroupCreated.Add(float64(n)) },
		Deleted:  func(n int) { counters.GroupDeleted.Add(float64(n)) },
	})
	if err != nil {
		return err
	}
	d.conversations = conversation.New(conversation.Options{
		Store: a.store, Settings: func() config.Conversation { return settings().Conversation },
	})
	d.messages = message.New(message.Options{
		Store: a.store, IDs: generator, Members: d.groups.Members, Logger: a.logger,
		Settings:     func() config.Message { return settings().Message },
		ReadReceipts: func() config.ReadReceipt { return settings().Conversation.ReadReceipt },
		Sent:         func(n int64) { counters.MessageSent.Add(float64(n)) },
		BeforeDelete: a.plugins.MessagesToDelete, AsksBeforeDelete: a.plugins.DecidesAboutMessagesToDelete,
		HasAccounts: a.hasAccounts,
		Clock:       a.cluster.Now,
		Deliverer:   &service.Deliverer{Notifier: a.notifier, Settings: func() config.Notification { return settings().Notification }},
	})
	a.lifecycle.add(part{name: "messages", stop: d.messages.Stop})
	d.meetings = meeting.New(meeting.Options{
		Store: a.store, Messages: d.messages, Logger: a.logger,
		Settings: func() config.Conference { return settings().Conference },
		Provider: service.Conference{Plugins: func() *plugin.Manager { return a.plugins.Manager }},
	})
	return nil
}

func (a *App) newUsers(generator *ids.Generator) *user.Directory {
	c, counters := a.opts.Config.Security.Password, a.metrics.Service()
	return user.New(user.Options{
		Store: a.store, IDs: generator, Settings: func() config.User { return a.live.Current().Service.User },
		Hasher:     password.Hasher{Algorithm: password.Algorithm(c.UserPasswordEncodingAlgorithm), Cost: int(c.BcryptCost)},
		OnDelete:   []func(context.Context, store.Tx, []int64) error{conversation.DeleteOfUsers, message.DeleteOfUsers, meeting.DeleteOfUsers},
		Disconnect: a.disconnectUsers,
		Registered: func(n int64) { counters.UserRegistered.Add(float64(n)) },
		Deleted:    func(n int64) { counters.UserDeleted.Add(float64(n)) },
	})
}

// domainJobs are the clean-ups that one node does for the whole cluster.
func (a *App) domainJobs() []job {
	c, d := a.opts.Config.Service, &a.domain
	return []job{
		{"clean-up of friend requests", c.User.FriendRequest.ExpiredUserFriendRequestsCleanupCron, d.relationships.FriendRequests.DeleteExpired},
		{"clean-up of group invitations", c.Group.Invitation.ExpiredInvitationsCleanupCron, d.groups.Invitations.DeleteExpired},
		{"clean-up of join requests", c.Group.JoinRequest.ExpiredJoinRequestsCleanupCron, d.groups.JoinRequests.DeleteExpired},
		{"clean-up of messages", c.Message.ExpiredMessagesCleanupCron, d.messages.DeleteExpired},
		{"clean-up of meetings", c.Conference.Meeting.ExpiredMeetingsCleanupCron, d.meetings.DeleteExpired},
	}
}

// job is work of the leader, at the times of a cron expression.
type job struct {
	name, cron string
	// do writes with db, whose transactions are not committed when another node leads.
	do func(ctx context.Context, db store.Writer) (int64, error)
}

// startJobs schedules what one node does for the whole cluster.
func (a *App) startJobs(ctx context.Context) error {
	node := a.nodes[role.Service]
	if node == nil {
		return nil
	}
	logOnline := a.onlineUsersLog()
	if _, err := a.domain.messages.PreparePartitions(ctx, a.store); err != nil {
		a.logger.WarnContext(ctx, "could not make partitions for messages; the leader tries again", "error", err)
	}
	jobs := append(a.domainJobs(),
		job{"sweep of blocked addresses", "30 * * * * *", a.blockedIPs.Sweep},
		job{"clean-up of expired tokens of administrators", "0 20 * * * *", a.administrators.DeleteExpiredTokens},
		job{"preparation of partitions for messages", "0 5 * * * *", a.domain.messages.PreparePartitions},
		job{"clean-up of idempotency keys", "20 * * * * *", a.domain.messages.DeleteExpiredKeys},
		job{"renewal of the statistics of the database", "0 10 * * * *", func(ctx context.Context, _ store.Writer) (int64, error) { return 0, a.store.Optimize(ctx) }},
		job{"sweep of blocked users", "45 * * * * *", a.blockedUsers.Sweep},
		job{"count of online users", a.opts.Config.Service.Statistics.OnlineUsersNumberLoggingCron, func(ctx context.Context, _ store.Writer) (int64, error) { return logOnline(ctx) }},
		job{"search for rows of the audit trail without a seal", "15 * * * * *", a.audit.SealMissed},
		job{"clean-up of files of plugins", "0 50 * * * *", a.catalog.Clean},
		job{"clean-up of the slots of schedules of plugins", "0 55 * * * *", a.slots.Clean},
		job{"clean-up of events that all plugins have got", "20 * * * * *", a.events.Trim},
		job{"clean-up of the audit trail", "0 40 * * * *", a.audit.Remove},
	)
	for _, j := range jobs {
		stop, err := node.Schedule(j.name, j.cron, func(ctx context.Context, fence cluster.Fence) error {
			n, err := j.do(ctx, a.store.Behind(fence.Check))
			if n > 0 {
				a.logger.Info("job done", "job", j.name, "records", n)
			}
			return err
		})
		if err != nil {
			return err
		}
		a.lifecycle.add(part{name: j.name, stop: func(context.Context) error {
			stop()
			return nil
		}})
	}
	return nil
}

// statisticsLimits are the limits of statistics queries.
func (a *App) statisticsLimits() api.StatisticsLimits {
	c := a.live.Current().Service.AdminAPI
	return api.StatisticsLimits{
		Hours: c.MaxHourDifferencePerCountRequest, Days: c.MaxDayDifferencePerCountRequest, Months: c.MaxMonthDifferencePerCountRequest,
	}
}
