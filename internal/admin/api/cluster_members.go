// SPDX-License-Identifier: Apache-2.0

package api

import (
	"context"
	"errors"
	"net/http"

	"example.org/app/internal/admin"
	"example.org/app/internal/admin/resource"
	"example.org/app/internal/apierr"
	"example.org/app/internal/audit"
	"example.org/app/internal/cluster"
	"example.org/app/internal/permission"
	"example.org/app/internal/role"
	"example.org/app/internal/store"
)

const memberTag = "MemberController"

type memberHandlers struct{ cluster *cluster.Cluster }

func memberOperations(c *cluster.Cluster) []*admin.Operation {
	h := memberHandlers{c}
	return []*admin.Operation{
		admin.Handle(admin.Operation{
			ID: "queryMembers", Method: http.MethodGet, Path: "/cluster/members", Tag: memberTag, Permission: permission.ClusterMemberQuery,
			Summary: "Query the members", Description: "Returns all known nodes of the cluster, of any type.",
		}, h.query),
		admin.Handle(admin.Operation{
			ID: "createMember", Method: http.MethodPost, Path: "/cluster/members", Tag: memberTag, Permission: permission.ClusterMemberCreate,
			Summary: "Add a member", Description: "Adds the record of a node. It vanishes 60 seconds later unless the node joins or is a seed.",
			Errors: []apierr.Code{apierr.RecordContainsDuplicateKey},
		}, h.create),
		admin.Handle(admin.Operation{
			ID: "updateMember", Method: http.MethodPut, Path: "/cluster/members", Tag: memberTag, Permission: permission.ClusterMemberUpdate,
			Summary:     "Update a member",
			Description: "Changes the record of a node, live or not. A node that is not active finishes its work and gets no new one. An unknown node is answered with 204.",
		}, h.update),
		admin.Handle(admin.Operation{
			ID: "deleteMembers", Method: http.MethodDelete, Path: "/cluster/members", Tag: memberTag, Permission: permission.ClusterMemberDelete,
			Summary: "Delete members", Description: "Deletes the records of nodes. A live node registers again at its next heartbeat.",
		}, h.delete),
		admin.Handle(admin.Operation{
			ID: "queryLeader", Method: http.MethodGet, Path: "/cluster/members/leader", Tag: memberTag, Permission: permission.ClusterLeaderQuery,
			Summary: "Query the leader", Description: "Returns the node that leads the cluster.",
		}, h.leader),
		admin.Handle(admin.Operation{
			ID: "createLeader", Method: http.MethodPost, Path: "/cluster/members/leader", Tag: memberTag, Permission: permission.ClusterLeaderUpdate,
			Summary: "Elect a leader",
			Description: "Makes a node the leader. Without `id` the current leader is kept if it still qualifies; otherwise the node with the highest priority becomes the leader. " +
				"Only active, healthy service nodes that are eligible qualify.",
			Errors: []apierr.Code{apierr.NonexistentMemberToBeLeader, apierr.NoQualifiedMemberToBeLeader, apierr.NotQualifiedMemberToBeLeader},
		}, h.elect),
	}
}

// Member is a node as the interface returns it. Some booleans stand under two
// names, as callers of both exist.
type Member struct {
	Key              MemberKey     `json:"key" doc:"Which node it is."`
	Zone             string        `json:"zone" doc:"Its location." example:"rack-1"`
	Name             string        `json:"name" doc:"Its display name." example:"first"`
	NodeVersion      MemberVersion `json:"nodeVersion" doc:"The program that it runs."`
	NodeType         string        `json:"nodeType" enum:"AI_SERVING,GATEWAY,SERVICE,MOCK" doc:"Its role." example:"SERVICE"`
	IsSeed           bool          `json:"isSeed" doc:"Whether its record is kept without heartbeats."`
	Seed             bool          `json:"seed" doc:"The same as isSeed."`
	RegistrationDate admin.Date    `json:"registrationDate" doc:"When it joined."`
	IsLeaderEligible bool          `json:"isLeaderEligible" doc:"Whether it may become leader."`
	LeaderEligible   bool          `json:"leaderEligible" doc:"The same as isLeaderEligible."`
	Priority         int32         `json:"priority" doc:"Priority in the election of the leader; the highest number wins." example:"0"`
	MemberHost       string        `json:"memberHost" doc:"Its host." example:"10.0.0.5"`
	MemberPort       int32         `json:"memberPort" doc:"Its port for other nodes; 0 as nodes meet at NATS." example:"0"`
	AdminAPIAddress  string        `json:"adminApiAddress" doc:"Its admin interface." example:"http://10.0.0.5:8510"`
	WSAddress        string        `json:"wsAddress,omitempty" doc:"Its WebSocket address for clients." example:"ws://10.0.0.5:10510"`
	TCPAddress       string        `json:"tcpAddress,omitempty" doc:"Its TCP address for clients." example:"10.0.0.5:11510"`
	UDPAddress       string        `json:"udpAddress,omitempty" doc:"Its UDP address for clients." example:"10.0.0.5:12510"`
	ProcessID        string        `json:"processId,omitempty" doc:"Id of its process: members with the same one share plugins, metrics and logs." example:"VQ3XJ5"`
	Status           MemberStatus  `json:"status" doc:"Its state."`
}

// MemberKey identifies a node.
type MemberKey struct {
	ClusterID string `json:"clusterId" doc:"Id of the cluster." example:"app"`
	NodeID    string `json:"nodeId" doc:"Id of the node." example:"first-service"`
}

// MemberVersion is the program that a node runs.
type MemberVersion struct {
	Major     int8   `json:"major" doc:"First number." example:"1"`
	Minor     int8   `json:"minor" doc:"Second number." example:"0"`
	Patch     int8   `json:"patch" doc:"Third number." example:"0"`
	Qualifier int8   `json:"qualifier" doc:"0 for a release, 1 for a snapshot." example:"0"`
	Version   string `json:"version" doc:"The version as text." example:"1.0.0"`
}

// MemberStatus is what changes about a node while it lives.
type MemberStatus struct {
	HasJoinedCluster  bool       `json:"hasJoinedCluster" doc:"Whether it takes part in the cluster."`
	IsHealthy         bool       `json:"isHealthy" doc:"Whether it is healthy."`
	Healthy           bool       `json:"healthy" doc:"The same as isHealthy."`
	IsActive          bool       `json:"isActive" doc:"Whether it accepts new work."`
	Active            bool       `json:"active" doc:"The same as isActive."`
	LastHeartbeatDate admin.Date `json:"lastHeartbeatDate" doc:"Time of its last heartbeat."`
}

func newMember(m cluster.Member) Member {
	v := m.Version
	return Member{
		Key: MemberKey{m.ClusterID, m.NodeID}, Zone: m.Zone, Name: m.Name,
		NodeVersion: MemberVersion{v.Major, v.Minor, v.Patch, v.Qualifier, v.Text},
		NodeType:    string(m.Type), IsSeed: m.Seed, Seed: m.Seed, RegistrationDate: admin.NewDate(m.RegistrationDate),
		IsLeaderEligible: m.LeaderEligible, LeaderEligible: m.LeaderEligible, Priority: m.Priority,
		MemberHost: m.MemberHost, MemberPort: m.MemberPort, AdminAPIAddress: m.AdminAPIAddress,
		WSAddress: m.WSAddress, TCPAddress: m.TCPAddress, UDPAddress: m.UDPAddress, ProcessID: m.ProcessID,
		Status: MemberStatus{
			HasJoinedCluster: m.Status.HasJoined, IsHealthy: m.Status.Healthy, Healthy: m.Status.Healthy,
			IsActive: m.Status.Active, Active: m.Status.Active, LastHeartbeatDate: admin.NewDate(m.Status.LastHeartbeat),
		},
	}
}

func (h memberHandlers) query(context.Context, *admin.NoInput) ([]Member, error) {
	return resource.Convert(h.cluster.Members(), newMember), nil
}

// memberCreation is the body of POST /cluster/members.
type memberCreation struct {
	NodeID           string     `json:"nodeId" minLength:"1" maxLength:"64" doc:"Id of the node." example:"second-service"`
	Zone             string     `json:"zone,omitempty" maxLength:"64" doc:"Its location." example:"rack-1"`
	Name             string     `json:"name,omitempty" maxLength:"64" doc:"Its display name." example:"second"`
	NodeType         string     `json:"nodeType" enum:"AI_SERVING,GATEWAY,SERVICE,MOCK" doc:"Its role." example:"SERVICE"`
	Version          string     `json:"version" doc:"Version of its program: major.minor.patch or major.minor.patch-SNAPSHOT." example:"1.0.0"`
	IsSeed           bool       `json:"isSeed,omitempty" doc:"Whether its record is kept without heartbeats."`
	IsLeaderEligible bool       `json:"isLeaderEligible,omitempty" doc:"Whether it may become leader; service nodes only."`
	RegistrationDate admin.Date `json:"registrationDate,omitzero" doc:"When it joined; absent: now."`
	Priority         int32      `json:"priority,omitempty" doc:"Priority in the election of the leader; the highest number wins." example:"0"`
	MemberHost       string     `json:"memberHost,omitempty" maxLength:"255" doc:"Its host." example:"10.0.0.6"`
	MemberPort       int32      `json:"memberPort,omitempty" minimum:"0" maximum:"65535" doc:"Its port for other nodes."`
	AdminAPIAddress  string     `json:"adminApiAddress,omitempty" maxLength:"2000" doc:"Its admin interface." example:"http://10.0.0.6:8510"`
	WSAddress        string     `json:"wsAddress,omitempty" maxLength:"2000" doc:"Its WebSocket address for clients."`
	TCPAddress       string     `json:"tcpAddress,omitempty" maxLength:"2000" doc:"Its TCP address for clients."`
	UDPAddress       string     `json:"udpAddress,omitempty" maxLength:"2000" doc:"Its UDP address for clients."`
	IsActive         bool       `json:"isActive,omitempty" doc:"Whether it accepts new work."`
	IsHealthy        bool       `json:"isHealthy,omitempty" doc:"Whether it is healthy."`
}

type memberCreationInput struct{ Body memberCreation }

func (h memberHandlers) create(ctx context.Context, in *memberCreationInput) (admin.Done, error) {
	b := in.Body
	version, err := cluster.ParseVersion(b.Version)
	if err != nil {
		return admin.Done{}, apierr.New(apierr.IllegalArgument, "version: %v", err)
	}
	err = h.cluster.AddMember(ctx, cluster.Member{
		NodeID: b.NodeID, Zone: b.Zone, Name: b.Name, Version: version, Type: role.Role(b.NodeType), Seed: b.IsSeed,
		LeaderEligible: b.IsLeaderEligible, RegistrationDate: b.RegistrationDate.Time, Priority: b.Priority,
		MemberHost: b.MemberHost, MemberPort: b.MemberPort, AdminAPIAddress: b.AdminAPIAddress,
		WSAddress: b.WSAddress, TCPAddress: b.TCPAddress, UDPAddress: b.UDPAddress,
		Status: cluster.Status{Active: b.IsActive, Healthy: b.IsHealthy},
	})
	if errors.Is(err, cluster.ErrMemberExists) {
		err = apierr.New(apierr.RecordContainsDuplicateKey, "nodeId: there is already a node %q", b.NodeID)
	}
	return admin.Done{}, err
}

// memberUpdate is the body of PUT /cluster/members.
type memberUpdate struct {
	Zone             *string `json:"zone,omitempty" maxLength:"64" doc:"Its location." example:"rack-2"`
	Name             *string `json:"name,omitempty" maxLength:"64" doc:"Its display name." example:"second"`
	IsSeed           *bool   `json:"isSeed,omitempty" doc:"Whether its record is kept without heartbeats."`
	IsLeaderEligible *bool   `json:"isLeaderEligible,omitempty" doc:"Whether it may become leader; service nodes only."`
	IsActive         *bool   `json:"isActive,omitempty" doc:"Whether it accepts new work."`
	Priority         *int32  `json:"priority,omitempty" doc:"Priority in the election of the leader; the highest number wins." example:"5"`
}

type memberUpdateInput struct {
	ID   string `query:"id" required:"true" minLength:"1" doc:"Id of the node." example:"second-service"`
	Body memberUpdate
}

func (h memberHandlers) update(ctx context.Context, in *memberUpdateInput) (admin.Maybe, error) {
	b := in.Body
	before, _ := h.cluster.Member(in.ID)
	err := h.cluster.UpdateMember(ctx, in.ID, cluster.MemberChange{
		Zone: b.Zone, Name: b.Name, Seed: b.IsSeed, LeaderEligible: b.IsLeaderEligible, Active: b.IsActive, Priority: b.Priority,
	})
	if errors.Is(err, cluster.ErrUnknownMember) {
		return admin.Maybe{}, nil
	}
	if err == nil {
		audit.Note(ctx, b.change(in.ID, before))
	}
	return admin.Maybe{Done: true}, err
}

// change is the update of a member as the audit trail shows it.
func (b memberUpdate) change(id string, before cluster.Member) store.Change {
	c := store.Change{Record: "member", Action: store.ActionUpdate, Key: store.Values{{Name: "id", Value: id}}}
	note := func(name string, given bool, before, after any) {
		if given {
			c.Before.Set(name, before)
			c.After.Set(name, after)
		}
	}
	note("zone", b.Zone != nil, before.Zone, b.Zone)
	note("name", b.Name != nil, before.Name, b.Name)
	note("isSeed", b.IsSeed != nil, before.Seed, b.IsSeed)
	note("isLeaderEligible", b.IsLeaderEligible != nil, before.LeaderEligible, b.IsLeaderEligible)
	note("isActive", b.IsActive != nil, before.Status.Active, b.IsActive)
	note("priority", b.Priority != nil, before.Priority, b.Priority)
	return c
}

type memberDeletion struct {
	IDs []string `query:"ids" required:"true" selector:"true" uniqueItems:"true" doc:"Ids of nodes." example:"[\"second-service\"]"`
}

func (h memberHandlers) delete(ctx context.Context, in *memberDeletion) (admin.DeleteResult, error) {
	n, err := h.cluster.RemoveMembers(ctx, in.IDs)
	return admin.DeleteResult{DeletedCount: int64(n)}, err
}

func (h memberHandlers) leader(context.Context, *admin.NoInput) (admin.Optional[Member], error) {
	leader, _, ok := h.cluster.Leader()
	if !ok {
		return admin.Optional[Member]{}, nil
	}
	m := newMember(leader)
	return admin.Optional[Member]{Value: &m}, nil
}

type leaderElection struct {
	ID *string `query:"id" minLength:"1" doc:"Id of the node that shall lead." example:"second-service"`
}

func (h memberHandlers) elect(ctx context.Context, in *leaderElection) (Member, error) {
	leader, err := h.cluster.Elect(ctx, in.ID)
	return newMember(leader), err
}
