// SPDX-License-Identifier: Apache-2.0

// Package api declares the operations of the administrative HTTP interface, one
// file for each resource group. An operation translates between the interface
// and the rules of the domain; it holds no rule of its own.
package api

import (
	"context"
	"net/http"
	"net/netip"
	"time"

	"example.org/app/internal/admin"
	"example.org/app/internal/audit"
	"example.org/app/internal/cluster"
	"example.org/app/internal/im/administrator"
	"example.org/app/internal/im/blocklist"
	"example.org/app/internal/im/conversation"
	"example.org/app/internal/im/group"
	"example.org/app/internal/im/message"
	"example.org/app/internal/im/relationship"
	"example.org/app/internal/im/user"
	"example.org/app/internal/logs"
	"example.org/app/internal/metrics"
	"example.org/app/internal/presence"
	"example.org/app/internal/recording"
	"example.org/app/internal/setting"
)

// Common are the parts that the operations of both roles work on.
type Common struct {
	Build   Build
	Logs    *logs.Folder
	Metrics *metrics.Registry
	// MetricsOpenTo says who may read metrics without credentials.
	MetricsOpenTo func(netip.Addr) bool
	Health        *Health
	// Shutdown begins to stop the process and returns at once.
	Shutdown func()
	Plugins  Plugins
	Recorder *recording.Recorder
}

// Service are the parts that only the service role has. Operations of parts that are nil can be
// described, but not called.
type Service struct {
	Administrators *administrator.Directory
	Audit          *audit.Trail
	BlockedIPs     *blocklist.List[netip.Addr]
	BlockedUsers   *blocklist.List[int64]
	Cluster        *cluster.Cluster
	Settings       *setting.Settings
	Users          *user.Directory
	Relationships  *relationship.Directory
	Groups         *group.Directory
	Conversations  *conversation.Directory
	Messages       *message.Directory
	Presence       *presence.Directory
	// NearbyLimits returns the current limits of searches for users nearby.
	NearbyLimits func() presence.NearbyLimits
	// DetailsLifetime returns how long after a login the details of the device are shown; 0 is
	// without limit. It may be nil.
	DetailsLifetime func() time.Duration
	// StatisticsLimits returns the current limits of statistics queries.
	StatisticsLimits func() StatisticsLimits
	// MessageStatistics may be nil; statistics then omit messages.
	MessageStatistics MessageStatistics
	// GroupMessageStatistics may be nil as well.
	GroupMessageStatistics GroupMessageStatistics
}

// CommonOperations are served by both roles.
func CommonOperations(c Common) []*admin.Operation {
	return concat(logOperations(c), metricOperations(c), recordingOperations(c.Recorder), pluginOperations(c.Plugins), systemOperations(c))
}

// ServiceOperations are served by the service role.
func ServiceOperations(s Service) []*admin.Operation {
	s.Administrators, s.Audit, s.Users, s.Messages = present(s.Administrators), present(s.Audit), present(s.Users), present(s.Messages)
	s.Relationships, s.Groups = present(s.Relationships), present(s.Groups)
	return concat(
		adminOperations(s.Administrators), adminRoleOperations(s.Administrators), adminTokenOperations(s.Administrators), onReplica(auditOperations(s.Audit)),
		memberOperations(s.Cluster), settingOperations(s.Settings),
		blockedIPOperations(s.BlockedIPs), blockedUserOperations(s.BlockedUsers),
		onReplica(
			userOperations(s), userOnlineInfoOperations(s), userRoleOperations(s.Users),
			relationshipOperations(s.Relationships), relationshipGroupOperations(s.Relationships), friendRequestOperations(present(s.Relationships.FriendRequests)),
			groupOperations(s), groupTypeOperations(present(s.Groups.Types)), groupQuestionOperations(present(s.Groups.Questions)), groupMemberOperations(present(s.Groups.Members)),
			groupBlocklistOperations(present(s.Groups.Blocklist)), groupInvitationOperations(present(s.Groups.Invitations)), groupJoinRequestOperations(present(s.Groups.JoinRequests)),
			conversationOperations(s.Conversations), messageOperations(s),
		),
	)
}

// present returns the part, or an empty one for operations that are described, but not called.
func present[T any](part *T) *T {
	if part == nil {
		return new(T)
	}
	return part
}

// onReplica lets a replica of the database serve the queries among operations.
func onReplica(lists ...[]*admin.Operation) []*admin.Operation {
	ops := concat(lists...)
	for _, op := range ops {
		op.Replica = op.Method == http.MethodGet
	}
	return ops
}

// Tags are the controllers, in the order in which the document shows them.
var Tags = []admin.Tag{
	{Name: logTag, Description: "Log files of this node."},
	{Name: metricTag, Description: "Metrics of this node."},
	{Name: recordingTag, Description: "Flight recordings of this node, which show what it does."},
	{Name: pluginTag, Description: "Plugins of this node."},
	{Name: adminTag, Description: "Administrators."},
	{Name: adminRoleTag, Description: "Roles of administrators and the permissions that roles hold."},
	{Name: adminTokenTag, Description: "Tokens and sessions of administrators."},
	{Name: auditTag, Description: "Writes of administrators, tokens and plugins, executed or refused."},
	{Name: memberTag, Description: "The nodes of the cluster and their leader."},
	{Name: settingTag, Description: "Settings of the cluster and of this node."},
	{Name: ipBlocklistTag, Description: "IP addresses that may not connect."},
	{Name: userBlocklistTag, Description: "Users who may not connect."},
	{Name: sessionTag, Description: "Sessions of this gateway."},
	{Name: userTag, Description: "Users."},
	{Name: userOnlineInfoTag, Description: "Online users, their devices and positions."},
	{Name: userRoleTag, Description: "Roles of users, which determine the groups that they may create."},
	{Name: relationshipTag, Description: "Relationships between users."},
	{Name: relationshipGroupTag, Description: "Groups of related users."},
	{Name: friendRequestTag, Description: "Friend requests between users."},
	{Name: groupTag, Description: "Groups."},
	{Name: groupTypeTag, Description: "Types of groups, which determine their maximum size and the rights of members."},
	{Name: groupQuestionTag, Description: "Questions that users must answer to join groups."},
	{Name: groupMemberTag, Description: "Members of groups."},
	{Name: groupBlocklistTag, Description: "Users who are blocked in groups."},
	{Name: groupInvitationTag, Description: "Invitations to groups."},
	{Name: groupJoinRequestTag, Description: "Requests of users to join groups."},
	{Name: conversationTag, Description: "Conversations and their read dates."},
	{Name: messageTag, Description: "Messages."},
	{Name: systemTag, Description: "The process itself: health, build, dumps, shutdown."},
}

func concat(groups ...[]*admin.Operation) (ops []*admin.Operation) {
	for _, g := range groups {
		ops = append(ops, g...)
	}
	return ops
}

// NewAuthenticator authenticates administrators by the directory, and tokens that are not the
// directory's by external, which returns false for a token that it does not know. external may be
// nil.
func NewAuthenticator(d *administrator.Directory, external func(ctx context.Context, token string) (*administrator.Identity, bool, error)) admin.Authenticator {
	return authenticator{d, external}
}

type authenticator struct {
	directory *administrator.Directory
	external  func(ctx context.Context, token string) (*administrator.Identity, bool, error)
}

func (a authenticator) Authenticate(ctx context.Context, c admin.Credentials) (p *admin.Principal, err error) {
	var id *administrator.Identity
	known := false
	if c.Token != "" && a.external != nil {
		id, known, err = a.external(ctx, c.Token)
	}
	switch {
	case known:
	case c.Token != "":
		id, err = a.directory.AuthenticateToken(ctx, c.Token, c.Remote)
	default:
		id, err = a.directory.Authenticate(ctx, c.LoginName, c.Password, c.Remote)
	}
	if err != nil {
		return nil, err
	}
	p = &admin.Principal{ID: id.ID, LoginName: id.LoginName, Permissions: id.Permissions}
	if t := id.Token; t != nil {
		p.Token = &admin.Token{ID: t.ID, Name: t.Name, Kind: string(t.Kind), Roles: t.Roles}
	}
	return p, nil
}

// requester is the administrator who makes the request, as the rules see it.
func requester(ctx context.Context) administrator.By {
	p := admin.Requester(ctx)
	by := administrator.By{ID: p.ID}
	if p.Plugin != "" {
		by.Limit = &p.Permissions
	}
	if p.Token != nil {
		by.Limit = &p.Permissions
		by.Token = &administrator.TokenInfo{ID: p.Token.ID, Name: p.Token.Name, Kind: administrator.TokenKind(p.Token.Kind), Roles: p.Token.Roles}
	}
	return by
}
