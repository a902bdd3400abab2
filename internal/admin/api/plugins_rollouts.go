// SPDX-License-Identifier: Apache-2.0

package api

import (
	"cmp"
	"context"
	"net/http"
	"slices"

	"example.org/app/internal/admin"
	"example.org/app/internal/apierr"
	"example.org/app/internal/permission"
	"example.org/app/internal/plugin"
	"example.org/app/internal/plugin/catalog"
	"example.org/app/internal/store"
)

func rolloutOperations(h pluginHandlers) []*admin.Operation {
	return []*admin.Operation{
		admin.Handle(admin.Operation{
			ID: "queryPluginRollouts", Method: http.MethodGet, Path: "/plugins/rollouts", Tag: pluginTag, Permission: permission.PluginQuery,
			Summary:     "List rollouts of plugins of the cluster",
			Description: "Lists the rollouts, also those that have ended, the newest first. Unknown ids are skipped.",
		}, h.queryRollouts),
		admin.Handle(admin.Operation{
			ID: "createPluginRollout", Method: http.MethodPost, Path: "/plugins/rollouts", Tag: pluginTag, Permission: permission.PluginUpdate,
			Summary: "Try a version of a plugin of the cluster on some nodes or for some users",
			Description: "With `percentage` or `userIds`, nodes run a version that is not active beside the active one, the candidate: calls that concern one of " +
				"these users go to the candidate, all others, endpoints, schedules and events stay with the active version. " +
				"Otherwise the named nodes run it instead of the active one, in the state of the plugin. No call is lost or made twice by that. Each node watches the version: " +
				"if it cannot load or start the version, or too many calls of it fail, the node rolls back for all of them within a few seconds. " +
				"After `promoteAfterSeconds` without that the version becomes the active one. While a rollout is under way no other version can be activated.",
			Errors: []apierr.Code{apierr.ResourceNotFound},
		}, h.rollOut),
		admin.Handle(admin.Operation{
			ID: "updatePluginRollout", Method: http.MethodPut, Path: "/plugins/rollouts", Tag: pluginTag, Permission: permission.PluginUpdate,
			Summary: "Pause, resume, promote or abort a rollout, or change its users",
			Description: "CHANGE sets `percentage` and `userIds` of a rollout by users; who is in a percentage is in every larger one as well. PAUSE leaves the version on its nodes and stops watching it, RESUME watches it again, PROMOTE makes it the active version of all nodes, " +
				"ABORT brings its nodes back to the active version. A rollout that has ended cannot be changed.",
			Errors: []apierr.Code{apierr.ResourceNotFound},
		}, h.decide),
	}
}

type rolloutRecord struct {
	ID                  int64       `json:"id" doc:"Id of the rollout." example:"1"`
	PluginID            string      `json:"pluginId" doc:"Id of the plugin." example:"word-filter"`
	Number              int64       `json:"number" doc:"Number of the version." example:"3"`
	NodeIDs             []string    `json:"nodeIds" doc:"Nodes that run it; none are all nodes."`
	Mode                string      `json:"mode" enum:"NODES,USERS" doc:"How: NODES instead of the active version, USERS beside it, for some users."`
	Percentage          int32       `json:"percentage,omitempty" doc:"Percentage of users who get it, with USERS." example:"10"`
	UserIDs             []int64     `json:"userIds,omitempty" doc:"Further users who get it, with USERS." example:"[1]"`
	Status              string      `json:"status" enum:"RUNNING,PAUSED,PROMOTED,ABORTED,ROLLED_BACK" doc:"State: RUNNING while nodes run the version and watch it, PAUSED if they only run it; PROMOTED, ABORTED (by an administrator) and ROLLED_BACK (by a node) are the end."`
	Reason              string      `json:"reason,omitempty" doc:"Why a node ended it; missing if none did."`
	MaxErrorPercentage  int32       `json:"maxErrorPercentage" doc:"How many of a hundred calls on a node may fail; with USERS how many more than those of the active version."`
	MaxLatency          int32       `json:"maxLatencyPercentage,omitempty" doc:"How long 99 of a hundred calls on a node may take, in percent of those of the active version; missing if that is not judged."`
	MaxRefusals         *int32      `json:"maxRefusalPercentage,omitempty" doc:"How many more of a hundred calls on a node may be refused than by the active version; missing if that is not judged."`
	MinCalls            int64       `json:"minCalls" doc:"From how many calls on a node this counts."`
	PromoteAfterSeconds int64       `json:"promoteAfterSeconds,omitempty" doc:"After how many seconds without too many failures it is promoted; missing if an administrator does that."`
	AdminID             int64       `json:"adminId" doc:"Who began it." example:"0"`
	StartDate           admin.Date  `json:"startDate" doc:"When it began."`
	EndDate             *admin.Date `json:"endDate,omitempty" doc:"When it ended."`
}

func newRolloutRecord(r store.PluginRollout) rolloutRecord {
	record := rolloutRecord{
		ID: r.ID, PluginID: r.PluginID, Number: r.Number, NodeIDs: r.NodeIDs, Mode: r.Mode, Percentage: r.Percentage, UserIDs: r.UserIDs, Status: r.Status, Reason: r.Reason, MaxErrorPercentage: r.MaxErrorPercentage, MaxLatency: r.MaxLatencyPercentage,
		MinCalls: r.MinCalls, PromoteAfterSeconds: r.PromoteAfterMillis / 1000, AdminID: r.AdminID, StartDate: admin.NewDate(r.StartDate),
	}
	if r.MaxRefusalPercentage >= 0 {
		record.MaxRefusals = &r.MaxRefusalPercentage
	}
	if r.EndDate != nil {
		end := admin.NewDate(*r.EndDate)
		record.EndDate = &end
	}
	return record
}

type rolloutQuery struct {
	PluginIDs []string `query:"pluginIds" uniqueItems:"true" doc:"Ids of plugins; none is all." example:"word-filter"`
}

func (h pluginHandlers) queryRollouts(ctx context.Context, in *rolloutQuery) ([]rolloutRecord, error) {
	found, err := h.Catalog.Rollouts(ctx, in.PluginIDs...)
	return convert(found, newRolloutRecord), err
}

type rolloutCreation struct {
	IfMatch string `header:"If-Match" doc:"Revision of the plugin that the rollout is meant for." example:"\"3\""`
	Body    newRollout
}

type newRollout struct {
	PluginID            string   `json:"pluginId" doc:"Id of the plugin." example:"word-filter"`
	Number              int64    `json:"number" minimum:"1" doc:"Number of the version, which is not active." example:"3"`
	NodeIDs             []string `json:"nodeIds,omitempty" doc:"Nodes that shall run it; without them all nodes do, which needs percentage or userIds." example:"[\"service-1\"]"`
	Percentage          *int32   `json:"percentage,omitempty" minimum:"0" maximum:"100" doc:"Percentage of users who shall get it, by a hash of their ids. Who is in a percentage is in every larger one as well." example:"10"`
	UserIDs             []int64  `json:"userIds,omitempty" maxItems:"1000" uniqueItems:"true" doc:"Further users who shall get it." example:"[1]"`
	MaxErrorPercentage  *int32   `json:"maxErrorPercentage,omitempty" minimum:"0" maximum:"100" doc:"How many of a hundred calls on a node may fail, for users how many more than of the active version; 5 if it is missing." example:"5"`
	MaxLatency          int32    `json:"maxLatencyPercentage,omitempty" minimum:"0" maximum:"100000" doc:"For users, how long 99 of a hundred calls on a node may take, in percent of those of the active version; 0 is any time. A millisecond more is always allowed." example:"150"`
	MaxRefusals         *int32   `json:"maxRefusalPercentage,omitempty" minimum:"0" maximum:"100" doc:"For users, how many more of a hundred calls on a node may be refused than by the active version; any number if it is missing." example:"2"`
	MinCalls            *int64   `json:"minCalls,omitempty" minimum:"1" doc:"From how many calls on a node this counts; 20 if it is missing. Without so many calls nothing is promoted by time." example:"20"`
	PromoteAfterSeconds int64    `json:"promoteAfterSeconds,omitempty" minimum:"0" maximum:"31536000" doc:"After how many seconds without too many failures the version becomes the active one; 0 if an administrator does that." example:"600"`
}

// The conditions of a rollout that does not name others.
const (
	defaultErrorPercentage = 5
	defaultMinCalls        = 20
)

// sortedSet returns each value once, in order; never nil.
func sortedSet[T cmp.Ordered](values []T) []T {
	return slices.Compact(append([]T{}, slices.Sorted(slices.Values(values))...))
}

func (h pluginHandlers) rollOut(ctx context.Context, in *rolloutCreation) (rolloutRecord, error) {
	change, err := newChange(ctx, in.IfMatch, 1)
	if err != nil {
		return rolloutRecord{}, err
	}
	r := store.PluginRollout{
		PluginID: in.Body.PluginID, Number: in.Body.Number, NodeIDs: sortedSet(in.Body.NodeIDs),
		Mode: store.RolloutNodes, MaxLatencyPercentage: in.Body.MaxLatency, MaxRefusalPercentage: -1, MaxErrorPercentage: defaultErrorPercentage, MinCalls: defaultMinCalls, PromoteAfterMillis: in.Body.PromoteAfterSeconds * 1000,
	}
	if in.Body.Percentage != nil || len(in.Body.UserIDs) > 0 {
		r.Mode, r.UserIDs = store.RolloutUsers, sortedSet(in.Body.UserIDs)
		if in.Body.Percentage != nil {
			r.Percentage = *in.Body.Percentage
		}
	} else if len(r.NodeIDs) == 0 {
		return rolloutRecord{}, apierr.New(apierr.IllegalArgument, "nodeIds: name nodes, or users by percentage or userIds")
	}
	if in.Body.MaxErrorPercentage != nil {
		r.MaxErrorPercentage = *in.Body.MaxErrorPercentage
	}
	if in.Body.MaxRefusals != nil {
		r.MaxRefusalPercentage = *in.Body.MaxRefusals
	}
	if r.Mode == store.RolloutNodes && (r.MaxLatencyPercentage > 0 || r.MaxRefusalPercentage >= 0) {
		return rolloutRecord{}, apierr.New(apierr.IllegalArgument, "maxLatencyPercentage, maxRefusalPercentage: are for rollouts by users, which have two versions to compare")
	}
	if in.Body.MinCalls != nil {
		r.MinCalls = *in.Body.MinCalls
	}
	nodes := h.States(ctx)
	for _, id := range r.NodeIDs {
		if !slices.ContainsFunc(nodes, func(n catalog.NodeStates) bool { return n.NodeID == id }) {
			return rolloutRecord{}, apierr.New(apierr.IllegalArgument, "nodeIds: the cluster has no node %q", id)
		}
	}
	r, err = h.Catalog.RollOut(plugin.ForAdmin(ctx, change.AdminID), r, change)
	if err != nil {
		return rolloutRecord{}, err
	}
	return newRolloutRecord(r), nil
}

type rolloutUpdate struct {
	ID   int64 `query:"id" required:"true" doc:"Id of the rollout." example:"1"`
	Body rolloutStep
}

type rolloutStep struct {
	Action string `json:"action" enum:"CHANGE,PAUSE,RESUME,PROMOTE,ABORT" doc:"The step to take." example:"PROMOTE"`
	// Both are for CHANGE only.
	Percentage *int32  `json:"percentage,omitempty" minimum:"0" maximum:"100" doc:"With CHANGE, percentage of users who get the version; without it the percentage stays." example:"20"`
	UserIDs    []int64 `json:"userIds,omitempty" maxItems:"1000" uniqueItems:"true" doc:"With CHANGE, further users who get the version; without it they stay." example:"[1]"`
}

// changeUsers is the action that changes the users of a rollout.
const changeUsers = "CHANGE"

func (h pluginHandlers) decide(ctx context.Context, in *rolloutUpdate) (rolloutRecord, error) {
	by := catalog.Change{AdminID: admin.Requester(ctx).ID}
	ctx = plugin.ForAdmin(ctx, by.AdminID)
	if in.Body.Action == changeUsers {
		userIDs := in.Body.UserIDs
		if userIDs != nil {
			userIDs = sortedSet(userIDs)
		}
		r, err := h.Catalog.Resplit(ctx, in.ID, in.Body.Percentage, userIDs)
		return newRolloutRecord(r), err
	}
	if in.Body.Percentage != nil || in.Body.UserIDs != nil {
		return rolloutRecord{}, apierr.New(apierr.IllegalArgument, "percentage, userIds: are for the action %s", changeUsers)
	}
	r, err := h.Catalog.Decide(ctx, in.ID, in.Body.Action, by)
	if err != nil {
		return rolloutRecord{}, err
	}
	return newRolloutRecord(r), nil
}
