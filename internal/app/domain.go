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

// domain contains the rules of instant messaging.
type domain struct {
	users         *user.Directory
	relationships *relationship.Directory
	groups        *group.Directory
	conversations *conversation.Directory
	messages      *message.Directory
	meetings      *meeting.Directory
}

// start creates the rules of a service node.
func (p *rules) start(ctx context.Context) (err error) {
	if !p.Process.runs(role.Service) {
		return nil
	}
	d := &p.domain
	generator, counters := p.Nodes.byRole[role.Service].IDs(), p.Measurements.registry.Service()
	settings := func() *config.Service { return &p.Process.live.Current().Service }
	userSettings := func() config.User { return settings().User }
	d.relationships = relationship.New(relationship.Options{Store: p.Database.db, IDs: generator, Settings: userSettings})
	d.users = p.newUsers(generator)
	d.groups, err = group.New(ctx, group.Options{
		Store: p.Database.db, IDs: generator, Users: d.users, Settings: func() config.Group { return settings().Group },
		OnDelete: []func(context.Context, store.Tx, []int64) error{conversation.DeleteOfGroups, message.DeleteOfGroups, meeting.DeleteOfGroups},
		Created:  func(n int) { counters.GroupCreated.Add(float64(n)) },
		Deleted:  func(n int) { counters.GroupDeleted.Add(float64(n)) },
	})
	if err != nil {
		return err
	}
	d.conversations = conversation.New(conversation.Options{
		Store: p.Database.db, Settings: func() config.Conversation { return settings().Conversation },
	})
	notification := func() config.Notification { return settings().Notification }
	d.messages = message.New(message.Options{
		Store: p.Database.db, IDs: generator, Members: d.groups.Members, Logger: p.Logs.logger,
		Settings:     func() config.Message { return settings().Message },
		ReadReceipts: func() config.ReadReceipt { return settings().Conversation.ReadReceipt },
		Sent:         func(n int64) { counters.MessageSent.Add(float64(n)) },
		BeforeDelete: p.Held.plugins.MessagesToDelete, AsksBeforeDelete: p.Held.plugins.DecidesAboutMessagesToDelete,
		HasAccounts: p.Process.hasAccounts,
		Clock:       p.Nodes.cluster.Now,
		Deliverer:   &service.Deliverer{Notifier: p.Notifier.service, Settings: notification},
	})
	p.Process.lifecycle.add(part{name: "messages", stop: d.messages.Stop})
	killed := &service.KilledServices{
		Notifier: p.Notifier.service, Messages: d.messages, Store: p.Database.db, Holders: p.Nodes.cluster.NumberHolders,
		Settings: notification, Logger: p.Logs.logger,
	}
	p.Process.lifecycle.add(part{name: "messages of killed services", run: killed.Run})
	d.meetings = meeting.New(meeting.Options{
		Store: p.Database.db, Messages: d.messages, Logger: p.Logs.logger,
		Settings: func() config.Conference { return settings().Conference },
		Provider: service.Conference{Plugins: func() *plugin.Calls { return p.Held.plugins.Calls }},
	})
	p.Held.used.notifier, p.Held.used.meetings = p.Notifier.service, d.meetings
	return nil
}

func (p *rules) newUsers(generator *ids.Generator) *user.Directory {
	c, counters := p.Process.opts.Config.Security.Password, p.Measurements.registry.Service()
	return user.New(user.Options{
		Store: p.Database.db, IDs: generator, Settings: func() config.User { return p.Process.live.Current().Service.User },
		Hasher:     password.Hasher{Algorithm: password.Algorithm(c.UserPasswordEncodingAlgorithm), Cost: int(c.BcryptCost)},
		OnDelete:   []func(context.Context, store.Tx, []int64) error{conversation.DeleteOfUsers, message.DeleteOfUsers, meeting.DeleteOfUsers},
		Disconnect: p.Online.disconnectUsers,
		Registered: func(n int64) { counters.UserRegistered.Add(float64(n)) },
		Deleted:    func(n int64) { counters.UserDeleted.Add(float64(n)) },
	})
}

// cleanUps returns the clean-ups that one node runs for the cluster.
func (p *rules) cleanUps() []job {
	c, d := p.Process.opts.Config.Service, &p.domain
	return []job{
		{"clean-up of friend requests", c.User.FriendRequest.ExpiredUserFriendRequestsCleanupCron, d.relationships.FriendRequests.DeleteExpired},
		{"clean-up of group invitations", c.Group.Invitation.ExpiredInvitationsCleanupCron, d.groups.Invitations.DeleteExpired},
		{"clean-up of join requests", c.Group.JoinRequest.ExpiredJoinRequestsCleanupCron, d.groups.JoinRequests.DeleteExpired},
		{"clean-up of messages", c.Message.ExpiredMessagesCleanupCron, d.messages.DeleteExpired},
		{"clean-up of meetings", c.Conference.Meeting.ExpiredMeetingsCleanupCron, d.meetings.DeleteExpired},
	}
}

// job is a job of the leader with a cron expression.
type job struct {
	name, cron string
	// do writes with db, whose transactions are not committed once another node leads.
	do func(ctx context.Context, db store.Writer) (int64, error)
}

// start schedules the jobs that one node runs for the cluster.
func (p *jobs) start(ctx context.Context) error {
	node := p.Nodes.byRole[role.Service]
	if node == nil {
		return nil
	}
	logOnline := p.onlineUsersLog()
	if _, err := p.Rules.domain.messages.PreparePartitions(ctx, p.Database.db); err != nil {
		p.Logs.logger.WarnContext(ctx, "could not make partitions for messages; the leader tries again", "error", err)
	}
	jobs := append(p.Rules.cleanUps(),
		job{"sweep of blocked addresses", "30 * * * * *", p.Blocklists.ips.Sweep},
		job{"clean-up of expired tokens of administrators", "0 20 * * * *", p.Administrators.directory.DeleteExpiredTokens},
		job{"preparation of partitions for messages", "0 5 * * * *", p.Rules.domain.messages.PreparePartitions},
		job{"clean-up of idempotency keys", "20 * * * * *", p.Rules.domain.messages.DeleteExpiredKeys},
		job{"renewal of the statistics of the database", "0 10 * * * *", func(ctx context.Context, _ store.Writer) (int64, error) { return 0, p.Database.db.Optimize(ctx) }},
		job{"sweep of blocked users", "45 * * * * *", p.Blocklists.users.Sweep},
		job{"count of online users", p.Process.opts.Config.Service.Statistics.OnlineUsersNumberLoggingCron, func(ctx context.Context, _ store.Writer) (int64, error) { return logOnline(ctx) }},
		job{"search for rows of the audit trail without a seal", "15 * * * * *", p.Audit.trail.SealMissed},
		job{"clean-up of files of plugins", "0 50 * * * *", p.Held.catalog.Clean},
		job{"clean-up of the slots of schedules of plugins", "0 55 * * * *", p.Held.slots.Clean},
		job{"clean-up of events that all plugins have got", "20 * * * * *", p.Held.events.Trim},
		job{"clean-up of the audit trail", "0 40 * * * *", p.Audit.trail.Remove},
	)
	for _, j := range jobs {
		stop, err := node.Schedule(j.name, j.cron, func(ctx context.Context, fence cluster.Fence) error {
			n, err := j.do(ctx, p.Database.db.Behind(fence.Check))
			if n > 0 {
				p.Logs.logger.Info("job done", "job", j.name, "records", n)
			}
			return err
		})
		if err != nil {
			return err
		}
		p.Process.lifecycle.add(part{name: j.name, stop: func(context.Context) error {
			stop()
			return nil
		}})
	}
	return nil
}

// statisticsLimits are the limits of statistics queries.
func (p *process) statisticsLimits() api.StatisticsLimits {
	c := p.live.Current().Service.AdminAPI
	return api.StatisticsLimits{
		Hours: c.MaxHourDifferencePerCountRequest, Days: c.MaxDayDifferencePerCountRequest, Months: c.MaxMonthDifferencePerCountRequest,
	}
}
