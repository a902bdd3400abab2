// SPDX-License-Identifier: Apache-2.0

package api

import (
	"context"
	"slices"
	"strconv"
	"strings"

	"example.org/app/internal/admin"
	"example.org/app/internal/apierr"
	"example.org/app/internal/plugin"
	"example.org/app/internal/plugin/catalog"
	"example.org/app/internal/store"
)

// The scopes of plugins.
const (
	scopeNode    = "NODE"
	scopeCluster = "CLUSTER"
)

// clusterRecord is a plugin of the cluster.
type clusterRecord struct {
	Number     int64             `json:"number" doc:"Number of the active version." example:"3"`
	Version    string            `json:"version,omitempty" doc:"Version in its descriptor."`
	Digest     string            `json:"digest" doc:"SHA-256 digest of its file."`
	Status     string            `json:"status" enum:"LOADED,STARTED,PAUSED,STOPPED" doc:"Requested state on all nodes."`
	Revision   int64             `json:"revision" doc:"Revision of the plugin, for If-Match; it increases with every change." example:"5"`
	AdminID    int64             `json:"adminId" doc:"Who changed it last." example:"0"`
	ChangeDate admin.Date        `json:"changeDate" doc:"When it was changed last."`
	Nodes      []nodeStateRecord `json:"nodes" doc:"State on each node that the plugin supports."`
	Rollout    *rolloutRecord    `json:"rollout,omitempty" doc:"Another version that some nodes run instead of the active one, or next to it; missing if there is none."`
}

// nodeStateRecord is the state of a plugin of the cluster on a node.
type nodeStateRecord struct {
	NodeID  string `json:"nodeId" doc:"Id of the node."`
	State   string `json:"state" enum:"LOADED,STARTED,PAUSED,STOPPED,LOADING,FAILED,WAITING,CONFLICT,DISABLED,UNKNOWN" doc:"State: that of its extensions; LOADING if the node has not finished; FAILED if it could not load or start the active version; WAITING if that waits for grants; CONFLICT if it has a plugin of its own with the id, which counts; DISABLED if it loads no plugins of the cluster; UNKNOWN if it did not answer."`
	Reason  string `json:"reason,omitempty" doc:"Why the node could not load or start the active version; missing if it could."`
	Number  int64  `json:"number,omitempty" doc:"Number of the version that the node runs; missing if it runs none of the cluster."`
	Version string `json:"version,omitempty" doc:"Version that this one states."`
	Digest  string `json:"digest,omitempty" doc:"SHA-256 digest of its file."`

	Candidate *candidateRecord `json:"candidate,omitempty" doc:"Version that the node runs next to it, for some users or as a shadow; missing if there is none."`
}

// candidateRecord is a version that a node runs beside the active one.
type candidateRecord struct {
	Number  int64       `json:"number" doc:"Number of the version." example:"4"`
	Version string      `json:"version,omitempty" doc:"Version in its descriptor."`
	State   string      `json:"state" enum:"LOADED,STARTED,PAUSED,STOPPED,FAILED" doc:"State of the candidate. If it is FAILED, it cannot run, and its users get the active version." example:"STARTED"`
	Reason  string      `json:"reason,omitempty" doc:"Why it cannot run; missing if it can."`
	Usage   usageRecord `json:"usage" doc:"Figures since it runs on the node."`
	Active  usageRecord `json:"active" doc:"Figures of the active version on the node in the same time."`

	Shadow *shadowRecord `json:"shadow,omitempty" doc:"Results of the copies of calls, with SHADOW; missing otherwise."`
}

// shadowRecord is how copies of calls ended.
type shadowRecord struct {
	Calls     int64 `json:"calls" doc:"Copies of calls that have ended on the candidate."`
	Equal     int64 `json:"equal" doc:"How many of them ended as on the active version."`
	Different int64 `json:"different" doc:"How many of them ended otherwise."`
	Errors    int64 `json:"errors" doc:"How many of them failed or took too long."`
	Dropped   int64 `json:"dropped" doc:"Calls that were not copied, because too many were waiting or the candidate could not run."`
}

func newShadowRecord(c *plugin.ShadowCounts) *shadowRecord {
	if c == nil {
		return nil
	}
	return &shadowRecord{Calls: c.Calls, Equal: c.Equal, Different: c.Different, Errors: c.Failed, Dropped: c.Dropped}
}

// usageRecord is what a version did.
type usageRecord struct {
	Calls     int64   `json:"calls" doc:"Calls that concern users and have ended on the node."`
	Failed    int64   `json:"failed" doc:"How many of them failed or took too long."`
	Refused   int64   `json:"refused" doc:"How many of them were refused by the plugin."`
	P99Millis float64 `json:"p99Millis" doc:"How many milliseconds 99 of a hundred took at most, up to an eighth too many."`
}

func newUsageRecord(u catalog.Usage) usageRecord {
	return usageRecord{Calls: u.Calls, Failed: u.Failed, Refused: u.Refused, P99Millis: float64(u.P99) / 1000}
}

func newNodeStateRecord(nodeID string, s catalog.State) nodeStateRecord {
	r := nodeStateRecord{NodeID: nodeID, State: s.State, Reason: s.Reason, Number: s.Number, Version: s.Version, Digest: s.Digest}
	if c := s.Candidate; c != nil {
		r.Candidate = &candidateRecord{Number: c.Number, Version: c.Version, State: c.State, Reason: c.Reason, Usage: newUsageRecord(c.Usage), Active: newUsageRecord(c.Active), Shadow: newShadowRecord(c.Shadow)}
	}
	return r
}

func newClusterRecord(p catalog.Plugin, nodes []catalog.NodeStates) *clusterRecord {
	r := &clusterRecord{
		Number: p.Number, Version: p.Active.Version, Digest: p.Active.Digest, Status: p.Status, Revision: p.Revision,
		AdminID: p.AdminID, ChangeDate: admin.NewDate(p.ChangeDate), Nodes: []nodeStateRecord{},
	}
	if p.Rollout != nil {
		rollout := newRolloutRecord(*p.Rollout)
		r.Rollout = &rollout
	}
	for _, n := range nodes {
		if s, ok := n.Of(p); ok {
			r.Nodes = append(r.Nodes, newNodeStateRecord(n.NodeID, s))
		}
	}
	return r
}

// withCluster adds what the cluster knows to the plugins of this node, and the plugins that this
// node does not have.
func (h pluginHandlers) withCluster(ctx context.Context, list []pluginRecord, wanted func(string) bool) []pluginRecord {
	known := slices.DeleteFunc(h.Catalog.Known(ctx), func(p catalog.Plugin) bool { return !wanted(p.ID) })
	if len(known) == 0 {
		return list
	}
	nodes := h.States(ctx)
	for _, p := range known {
		r := newClusterRecord(p, nodes)
		if i := slices.IndexFunc(list, func(own pluginRecord) bool { return own.ID == p.ID }); i >= 0 {
			list[i].Cluster = r
		} else {
			list = append(list, pluginRecord{ID: p.ID, Version: p.Active.Version, Extensions: []extensionRecord{}, Scope: scopeCluster, Cluster: r})
		}
	}
	return list
}

// clusterRecordOf is what the cluster knows of one plugin.
func (h pluginHandlers) clusterRecordOf(ctx context.Context, id string) (clusterRecord, error) {
	found, err := h.Catalog.Find(ctx, id)
	if err == nil && len(found) == 0 {
		err = apierr.New(apierr.ResourceNotFound, "the cluster has no plugin %q", id)
	}
	if err != nil {
		return clusterRecord{}, err
	}
	return *newClusterRecord(found[0], h.States(ctx)), nil
}

// newChange returns a change by the requester. If-Match names the revision of one plugin.
func newChange(ctx context.Context, ifMatch string, plugins int) (catalog.Change, error) {
	c := catalog.Change{AdminID: admin.Requester(ctx).ID}
	if ifMatch == "" || ifMatch == "*" {
		return c, nil
	}
	revision, err := strconv.ParseInt(strings.Trim(strings.TrimPrefix(ifMatch, "W/"), `"`), 10, 64)
	switch {
	case err != nil:
		return c, apierr.New(apierr.IllegalArgument, "parameter \"If-Match\": %q is not a revision of a plugin of the cluster", ifMatch)
	case plugins != 1:
		return c, apierr.New(apierr.IllegalArgument, "parameter \"If-Match\": is for one plugin, not for %d", plugins)
	}
	c.IfRevision = &revision
	return c, nil
}

// publish adds plugins to the cluster, all or none, or checks them.
func (h pluginHandlers) publish(ctx context.Context, c pluginCreation, uploads []plugin.Upload) ([]pluginOutcome, error) {
	if c.Save {
		return nil, apierr.New(apierr.IllegalArgument, "parameter \"save\": cannot be combined with scope=CLUSTER, which keeps plugins in the database")
	}
	change, err := newChange(ctx, c.IfMatch, len(uploads))
	if err != nil {
		return nil, err
	}
	publication := catalog.Publication{Uploads: uploads, Replace: c.Replace, DryRun: c.DryRun, Inactive: !c.Activate, Change: change}
	undo := func() error { return nil }
	if c.Grant {
		checked := publication
		checked.DryRun = true
		list, errs := h.Catalog.Publish(plugin.ForAdmin(ctx, change.AdminID), checked)
		plugins := make([]*plugin.Plugin, len(list))
		for i := range list {
			plugins[i] = list[i].Plugin
		}
		if undo, err = h.grantUploads(ctx, c, uploads, plugins, errs); err != nil {
			return nil, err
		}
	}
	published, errs := h.Catalog.Publish(plugin.ForAdmin(ctx, change.AdminID), publication)
	if !c.DryRun && errs != nil {
		return nil, refusal(uploads, errs, undo())
	}
	outcomes := make([]pluginOutcome, len(uploads))
	records := map[string]*clusterRecord{}
	if !c.DryRun && len(uploads) > 0 {
		nodes := h.States(ctx)
		for _, p := range h.Catalog.Known(ctx) {
			records[p.ID] = newClusterRecord(p, nodes)
		}
	}
	for i, u := range uploads {
		p := published[i]
		outcomes[i] = newPluginOutcome(u, plugin.Added{Plugin: p.Plugin, Replaced: p.Replaced})
		switch {
		case p.Plugin == nil:
		case c.DryRun:
			outcomes[i].Digest = p.Digest
		default:
			outcomes[i].Digest, outcomes[i].Number = p.Digest, p.Number
			if r := records[p.ID]; r != nil {
				outcomes[i].Nodes = r.Nodes
			}
		}
		if c.DryRun && errs[i] != nil {
			e := apierr.From(store.Code(errs[i]))
			outcomes[i].Problem, outcomes[i].Replaced = &pluginProblem{Code: e.Code, Reason: e.Reason}, false
		}
	}
	return outcomes, nil
}

// lead leads a plugin of the cluster into another state. Ids that are unknown are skipped.
func (h pluginHandlers) lead(ctx context.Context, id string, hook plugin.Hook, change catalog.Change, result *pluginUpdateResult, code *apierr.Code) error {
	changed, err := h.Catalog.Do(ctx, id, hook, change)
	switch e := apierr.From(err); {
	case err == nil:
	case e.Code == apierr.ResourceNotFound:
		return nil
	case e.Code == apierr.IllegalArgument && e.Status == 0:
		result.MatchedCount++
		result.Failures = append(result.Failures, updateFailure{ID: id, State: h.statusOf(ctx, id), Reason: e.Reason})
		return nil
	default:
		return err
	}
	result.MatchedCount++
	if changed {
		result.ModifiedCount++
	}
	p, ok := h.Manager.Find(id)
	if !ok || p.Shared() == nil {
		return nil
	}
	if !changed && (hook == plugin.Start || hook == plugin.Resume) {
		h.Manager.Do(ctx, p, hook) // An extension that cannot run although it should is tried again.
	}
	if missing := p.Missing(); !missing.IsEmpty() && (hook == plugin.Start || hook == plugin.Resume) {
		waiting := &plugin.WaitingError{Plugin: id, Missing: missing}
		result.Failures = append(result.Failures, updateFailure{ID: id, State: string(plugin.Loaded), Reason: waiting.Error()})
	}
	for _, e := range p.Extensions() {
		if e.Quarantine != "" {
			*code = apierr.ServerInternalError
			result.Failures = append(result.Failures, updateFailure{ID: id, Extension: e.Class, State: string(e.State), Reason: e.Quarantine})
		}
	}
	return nil
}

// statusOf is the state that all nodes bring a plugin into.
func (h pluginHandlers) statusOf(ctx context.Context, id string) string {
	for _, p := range h.Catalog.Known(ctx) {
		if p.ID == id {
			return p.Status
		}
	}
	return string(plugin.Loaded)
}
