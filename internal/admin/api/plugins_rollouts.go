// SPDX-License-Identifier: Apache-2.0

package api

import (
	"cmp"
	"context"
	"net/http"
	"slices"

	"example.org/app/internal/admin"
	"example.org/app/internal/admin/resource"
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
			Summary: "Try a version of a plugin of the cluster on some nodes, for some users or on copies of calls",
			Description: "With `percentage` or `userIds`, nodes run a version that is not active beside the active one, the candidate: calls that concern one of " +
				"these users go to the candidate, all others, endpoints, schedules and events stay with the active version. " +
				"With `shadow`, nodes run it next to the active one on copies of calls: the active version answers all of them, and the candidate receives each afterwards, without delaying the call; its answers are compared and thrown away. " +
				"Its `fetch` requests are sent; writes through the server (`app.api`, `app.storage`, `app.notify`) are refused. " +
				"Otherwise the named nodes run it instead of the active one, in the state of the plugin. No call is lost or made twice by that. Each node watches the version: " +
				"if it cannot load or start the version, or too many calls of it fail, the node rolls back for all of them within a few seconds. The leader of the cluster does so if too many of the calls on all nodes together fail. " +
				"After `promoteAfterSeconds` without that, and if all nodes that should run the version do and answer, the version becomes the active one; with `steps` it gets to more users step by step before. While a rollout is under way no other version can be activated.",
			Errors: []apierr.Code{apierr.ResourceNotFound},
		}, h.rollOut),
		admin.Handle(admin.Operation{
			ID: "updatePluginRollout", Method: http.MethodPut, Path: "/plugins/rollouts", Tag: pluginTag, Permission: permission.PluginUpdate,
			Summary: "Pause, resume, promote or abort a rollout, or change its users",
			Description: "CHANGE sets `percentage` and `userIds` of a rollout by users; who is in a percentage is in every larger one as well. PAUSE leaves the version on its nodes and stops watching it, RESUME watches it again and lets the time of its step begin anew, NEXT begins the next of its `steps` at once, PROMOTE makes it the active version of all nodes, " +
				"ABORT brings its nodes back to the active version. A rollout that has ended cannot be changed.",
			Errors: []apierr.Code{apierr.ResourceNotFound},
		}, h.decide),
		sampleOperation(h),
	}
}

type rolloutRecord struct {
	ID                  int64    `json:"id" doc:"Id of the rollout." example:"1"`
	PluginID            string   `json:"pluginId" doc:"Id of the plugin." example:"word-filter"`
	Number              int64    `json:"number" doc:"Number of the version." example:"3"`
	NodeIDs             []string `json:"nodeIds" doc:"Nodes that run it; none are all nodes."`
	Mode                string   `json:"mode" enum:"NODES,USERS,SHADOW" doc:"Kind: NODES instead of the active version, USERS next to it, for some users, SHADOW on copies of its calls."`
	Percentage          int32    `json:"percentage,omitempty" doc:"Percentage of users who get it, with USERS; whose calls are copied, with SHADOW." example:"10"`
	UserIDs             []int64  `json:"userIds,omitempty" doc:"Further users who get it, with USERS; whose calls are copied, with SHADOW." example:"[1]"`
	Status              string   `json:"status" enum:"RUNNING,PAUSED,PROMOTED,ABORTED,ROLLED_BACK" doc:"State: RUNNING while nodes run the version and watch it, PAUSED if they only run it; PROMOTED, ABORTED (by an administrator) and ROLLED_BACK (by a node) are the end."`
	Reason              string   `json:"reason,omitempty" doc:"Why a node ended it; missing if none did."`
	MaxErrorPercentage  int32    `json:"maxErrorPercentage" doc:"Largest share of failed calls on a node, in percent. With USERS and SHADOW it is the maximum excess over the share of the active version, in percentage points."`
	MaxLatency          int32    `json:"maxLatencyPercentage,omitempty" doc:"Largest p99 of the duration of calls on a node, in percent of the p99 of the active version; missing if it is not evaluated."`
	MaxRefusals         *int32   `json:"maxRefusalPercentage,omitempty" doc:"Maximum excess of the share of refused calls on a node over that of the active version, in percentage points; missing if it is not evaluated."`
	MaxDifferences      *int32   `json:"maxDifferencePercentage,omitempty" doc:"Largest share of copies of calls that end otherwise, in percent, with SHADOW; missing if it is not evaluated."`
	MinCalls            int64    `json:"minCalls" doc:"Number of calls from which the version is judged: by a node those on the node, by the leader of the cluster those on all nodes."`
	PromoteAfterSeconds int64    `json:"promoteAfterSeconds,omitempty" doc:"Seconds without too many failures after which the version is promoted; missing if an administrator promotes it."`

	Steps []rolloutStepRecord `json:"steps,omitempty" doc:"Steps in their order; missing if it has only one. percentage and promoteAfterSeconds of the rollout are those of the step that is under way, or was at the end."`

	AdminID   int64       `json:"adminId" doc:"Who began it." example:"0"`
	StartDate admin.Date  `json:"startDate" doc:"When it began."`
	EndDate   *admin.Date `json:"endDate,omitempty" doc:"When it ended."`

	Figures *rolloutFigures `json:"figures,omitempty" doc:"What the nodes had seen of its last step when it ended; missing before, and if they had seen nothing."`

	Nodes []rolloutNodeRecord `json:"nodes,omitempty" doc:"With SHADOW, the nodes that copy calls at present and how these ended; only in queryPluginRollouts."`
}

// rolloutNodeRecord is how copies of calls ended on a node.
type rolloutNodeRecord struct {
	NodeID string       `json:"nodeId" doc:"Id of the node." example:"service-1"`
	Shadow shadowRecord `json:"shadow" doc:"How copies of calls ended there."`
}

// rolloutFigures are what nodes have seen of a rollout.
type rolloutFigures struct {
	Processes int           `json:"processes" doc:"How many processes have seen something." example:"3"`
	Candidate usageRecord   `json:"candidate" doc:"What the version did."`
	Active    *usageRecord  `json:"active,omitempty" doc:"What the active version did meanwhile; missing with NODES."`
	Shadow    *shadowRecord `json:"shadow,omitempty" doc:"How copies of calls ended, with SHADOW; missing otherwise."`
}

func newRolloutFigures(r store.PluginRollout) *rolloutFigures {
	f := r.Figures
	if f == nil {
		return nil
	}
	usage := func(u store.RolloutUsage) usageRecord {
		return newUsageRecord(catalog.Usage{Calls: u.Calls, Failed: u.Failed, Refused: u.Refused, P99: u.P99Micros})
	}
	figures := &rolloutFigures{Processes: f.Nodes, Candidate: usage(f.Candidate)}
	if r.Mode != store.RolloutNodes {
		active := usage(f.Active)
		figures.Active = &active
	}
	if f.Shadow != nil {
		figures.Shadow = newShadowRecord((*plugin.ShadowCounts)(f.Shadow))
	}
	return figures
}

type rolloutStepRecord struct {
	Percentage   int32       `json:"percentage" doc:"Percentage of users who get the version." example:"10"`
	AfterSeconds int64       `json:"afterSeconds,omitempty" doc:"Seconds without too many failures after which the next step begins; after the last step the version is promoted. Missing if an administrator decides." example:"600"`
	StartDate    *admin.Date `json:"startDate,omitempty" doc:"When the step began; missing if it did not."`
	Reason       string      `json:"reason,omitempty" doc:"Why a node began the next step; missing if none did."`
}

func newRolloutStepRecord(s store.RolloutStep) rolloutStepRecord {
	record := rolloutStepRecord{Percentage: s.Percentage, AfterSeconds: s.AfterMillis / 1000, Reason: s.Reason}
	if s.StartDate != nil {
		start := admin.NewDate(*s.StartDate)
		record.StartDate = &start
	}
	return record
}

func newRolloutRecord(r store.PluginRollout) rolloutRecord {
	record := rolloutRecord{
		ID: r.ID, PluginID: r.PluginID, Number: r.Number, NodeIDs: r.NodeIDs, Mode: r.Mode, Percentage: r.Percentage, UserIDs: r.UserIDs, Status: r.Status, Reason: r.Reason, MaxErrorPercentage: r.MaxErrorPercentage, MaxLatency: r.MaxLatencyPercentage,
		MinCalls: r.MinCalls, PromoteAfterSeconds: r.PromoteAfterMillis / 1000, AdminID: r.AdminID, StartDate: admin.NewDate(r.StartDate),
	}
	if len(r.Steps) > 0 {
		record.Steps = resource.Convert(r.Steps, newRolloutStepRecord)
	}
	if r.MaxRefusalPercentage >= 0 {
		record.MaxRefusals = &r.MaxRefusalPercentage
	}
	if r.MaxDifferencePercentage >= 0 {
		record.MaxDifferences = &r.MaxDifferencePercentage
	}
	if r.EndDate != nil {
		end := admin.NewDate(*r.EndDate)
		record.EndDate = &end
	}
	record.Figures = newRolloutFigures(r)
	return record
}

type rolloutQuery struct {
	PluginIDs []string `query:"pluginIds" uniqueItems:"true" doc:"Ids of plugins; empty means all." example:"word-filter"`
}

func (h pluginHandlers) queryRollouts(ctx context.Context, in *rolloutQuery) ([]rolloutRecord, error) {
	found, err := h.Catalog.Rollouts.Find(ctx, in.PluginIDs...)
	records := resource.Convert(found, newRolloutRecord)
	isShadow := func(r store.PluginRollout) bool { return r.Mode == store.RolloutShadow && r.EndDate == nil }
	if !slices.ContainsFunc(found, isShadow) {
		return records, err
	}
	nodes := h.States(ctx)
	for i, r := range found {
		if isShadow(r) {
			records[i].Nodes = shadowNodes(nodes, r)
		}
	}
	return records, err
}

// shadowNodes says how copies of calls ended on the nodes that make them for a rollout.
func shadowNodes(nodes []catalog.NodeStates, r store.PluginRollout) (list []rolloutNodeRecord) {
	for _, n := range nodes {
		for _, s := range n.States {
			if c := s.Candidate; s.PluginID == r.PluginID && c != nil && c.Shadow != nil && c.Number == r.Number {
				list = append(list, rolloutNodeRecord{n.NodeID, *newShadowRecord(c.Shadow)})
			}
		}
	}
	return list
}

type rolloutCreation struct {
	IfMatch string `header:"If-Match" doc:"Revision of the plugin that the rollout is meant for." example:"\"3\""`
	Body    newRollout
}

type newRollout struct {
	PluginID            string   `json:"pluginId" doc:"Id of the plugin." example:"word-filter"`
	Number              int64    `json:"number" minimum:"1" doc:"Number of the version, which is not active." example:"3"`
	NodeIDs             []string `json:"nodeIds,omitempty" doc:"Nodes that shall run it; without them all nodes do, which needs percentage, userIds or shadow." example:"[\"service-1\"]"`
	Percentage          *int32   `json:"percentage,omitempty" minimum:"0" maximum:"100" doc:"Percentage of users who get it, by a hash of their ids. A larger percentage includes the users of a smaller one." example:"10"`
	UserIDs             []int64  `json:"userIds,omitempty" maxItems:"1000" uniqueItems:"true" doc:"Further users who shall get it." example:"[1]"`
	Shadow              bool     `json:"shadow,omitempty" doc:"Whether the version only gets copies of calls, after the active version has answered them, and its answers are thrown away. percentage and userIds are the users whose calls are copied; without both, all calls are, also those that concern no user." example:"true"`
	MaxErrorPercentage  *int32   `json:"maxErrorPercentage,omitempty" minimum:"0" maximum:"100" doc:"Largest share of failed calls on a node, in percent. In rollouts by users and shadows it is the maximum excess over the share of the active version, in percentage points. The default is 5." example:"5"`
	MaxLatency          int32    `json:"maxLatencyPercentage,omitempty" minimum:"0" maximum:"100000" doc:"Largest p99 of the duration of calls on a node, in percent of the p99 of the active version; for rollouts by users and shadows. One millisecond more is always allowed. 0, the default, does not judge it." example:"150"`
	MaxRefusals         *int32   `json:"maxRefusalPercentage,omitempty" minimum:"0" maximum:"100" doc:"Maximum excess of the share of refused calls on a node over that of the active version, in percentage points; for rollouts by users and shadows. Not evaluated if missing." example:"2"`
	MaxDifferences      *int32   `json:"maxDifferencePercentage,omitempty" minimum:"0" maximum:"100" doc:"Largest share of copies of calls that end otherwise than on the active version, in percent; for shadows. Not evaluated if missing." example:"1"`
	MinCalls            *int64   `json:"minCalls,omitempty" minimum:"1" doc:"Number of calls from which the version is judged; the default is 20. A node judges those that it had itself, and the leader of the cluster those of all nodes together. With fewer calls nothing is promoted, or rolled back because of them." example:"20"`
	PromoteAfterSeconds int64    `json:"promoteAfterSeconds,omitempty" minimum:"0" maximum:"31536000" doc:"Seconds without too many failures after which the version becomes the active one; 0, the default, leaves that to an administrator." example:"600"`

	Steps []newRolloutStep `json:"steps,omitempty" maxItems:"20" doc:"Several steps instead of percentage and promoteAfterSeconds, for example 1, 10 and 100 percent. Each is watched from its own begin, and each condition holds in each."`
}

type newRolloutStep struct {
	Percentage   int32 `json:"percentage" minimum:"0" maximum:"100" doc:"Percentage of users who get the version in this step. It must be larger than that of the step before." example:"10"`
	AfterSeconds int64 `json:"afterSeconds,omitempty" minimum:"0" maximum:"31536000" doc:"Seconds without too many failures after which the next step begins; after the last step the version is promoted. 0 if an administrator decides." example:"600"`
}

// newRolloutSteps checks steps.
func newRolloutSteps(body newRollout) (steps []store.RolloutStep, err error) {
	if len(body.Steps) > 0 && (body.Percentage != nil || body.PromoteAfterSeconds > 0) {
		return nil, apierr.New(apierr.IllegalArgument, "steps: percentage and promoteAfterSeconds are those of a rollout without steps")
	}
	for i, s := range body.Steps {
		if i > 0 && s.Percentage <= body.Steps[i-1].Percentage {
			return nil, apierr.New(apierr.IllegalArgument, "steps[%d].percentage: %d is not larger than %d, the percentage of the step before", i, s.Percentage, body.Steps[i-1].Percentage)
		}
		steps = append(steps, store.RolloutStep{Percentage: s.Percentage, AfterMillis: s.AfterSeconds * 1000})
	}
	return steps, nil
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
		Mode: store.RolloutNodes, MaxLatencyPercentage: in.Body.MaxLatency, MaxRefusalPercentage: -1, MaxDifferencePercentage: -1, MaxErrorPercentage: defaultErrorPercentage, MinCalls: defaultMinCalls, PromoteAfterMillis: in.Body.PromoteAfterSeconds * 1000,
	}
	if r.Steps, err = newRolloutSteps(in.Body); err != nil {
		return rolloutRecord{}, err
	}
	if in.Body.Percentage != nil || len(in.Body.UserIDs) > 0 || len(r.Steps) > 0 {
		r.Mode, r.UserIDs = store.RolloutUsers, sortedSet(in.Body.UserIDs)
		if in.Body.Percentage != nil {
			r.Percentage = *in.Body.Percentage
		}
	} else if len(r.NodeIDs) == 0 && !in.Body.Shadow {
		return rolloutRecord{}, apierr.New(apierr.IllegalArgument, "nodeIds: name nodes, or users by percentage or userIds, or set shadow")
	}
	if in.Body.Shadow {
		if r.Mode == store.RolloutNodes {
			r.Percentage = 100
		}
		r.Mode = store.RolloutShadow
	}
	if in.Body.MaxErrorPercentage != nil {
		r.MaxErrorPercentage = *in.Body.MaxErrorPercentage
	}
	if in.Body.MaxRefusals != nil {
		r.MaxRefusalPercentage = *in.Body.MaxRefusals
	}
	if in.Body.MaxDifferences != nil {
		if r.Mode != store.RolloutShadow {
			return rolloutRecord{}, apierr.New(apierr.IllegalArgument, "maxDifferencePercentage: is for shadows, which have two answers to compare")
		}
		r.MaxDifferencePercentage = *in.Body.MaxDifferences
	}
	if r.Mode == store.RolloutNodes && (r.MaxLatencyPercentage > 0 || r.MaxRefusalPercentage >= 0) {
		return rolloutRecord{}, apierr.New(apierr.IllegalArgument, "maxLatencyPercentage, maxRefusalPercentage: are for rollouts by users and shadows, which have two versions to compare")
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
	r, err = h.Catalog.Rollouts.Begin(plugin.ForAdmin(ctx, change.AdminID), r, change)
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
	Action string `json:"action" enum:"CHANGE,PAUSE,RESUME,NEXT,PROMOTE,ABORT" doc:"What to do." example:"PROMOTE"`
	// Both are for CHANGE only.
	Percentage *int32  `json:"percentage,omitempty" minimum:"0" maximum:"100" doc:"With CHANGE, percentage of users who get the version; absent: unchanged." example:"20"`
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
		r, err := h.Catalog.Rollouts.Resplit(ctx, in.ID, in.Body.Percentage, userIDs)
		return newRolloutRecord(r), err
	}
	if in.Body.Percentage != nil || in.Body.UserIDs != nil {
		return rolloutRecord{}, apierr.New(apierr.IllegalArgument, "percentage, userIds: are for the action %s", changeUsers)
	}
	r, err := h.Catalog.Rollouts.Decide(ctx, in.ID, in.Body.Action, by)
	if err != nil {
		return rolloutRecord{}, err
	}
	return newRolloutRecord(r), nil
}
