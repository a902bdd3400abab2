// SPDX-License-Identifier: Apache-2.0

package catalog

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"example.org/app/internal/plugin"
	"example.org/app/internal/plugin/trace"
	"example.org/app/internal/role"
)

// The states of a cluster plugin on a node, in addition to those of extensions.
const (
	// Loading means that the node is loading or starting the active version.
	Loading = "LOADING"
	// Failed means that the node could not load or start the active version; the former one may
	// continue.
	Failed = "FAILED"
	// Waiting means that the active version waits for grants; the former one may continue.
	Waiting = "WAITING"
	// Conflict means that the node has its own plugin with the same id, which takes precedence.
	Conflict = "CONFLICT"
	// Disabled means that the node loads no plugins of the cluster.
	Disabled = "DISABLED"
	// Unknown means that the node did not respond.
	Unknown = "UNKNOWN"
)

// States are the states of a plugin of the cluster on a node.
var States = []string{
	string(plugin.Loaded), string(plugin.Started), string(plugin.Paused), string(plugin.Stopped), Loading, Failed, Waiting, Conflict, Disabled, Unknown,
}

// A State is the state of a cluster plugin on a node.
type State struct {
	PluginID string `json:"pluginId"`
	State    string `json:"state"`
	// Reason is why the node could not load or start the active version, "" if it could.
	Reason string `json:"reason,omitempty"`
	// Number, Version and Digest are those of the running version; 0 and "" if the node runs none
	// of the cluster.
	Number  int64  `json:"number,omitempty"`
	Version string `json:"version,omitempty"`
	Digest  string `json:"digest,omitempty"`
	// Candidate is the version that the node runs beside it for some users; nil if there is none.
	Candidate *Candidate `json:"candidate,omitempty"`
}

// A Candidate is a version that a node runs beside the active one.
type Candidate struct {
	Number  int64  `json:"number"`
	Version string `json:"version,omitempty"`
	// State is like that of the active version, and Reason is why it cannot run; "" if it can.
	State  string `json:"state"`
	Reason string `json:"reason,omitempty"`
	// Usage are its figures on the node since it runs there, and Active those of the active version
	// beside it.
	Usage  Usage `json:"usage"`
	Active Usage `json:"active"`
	// Shadow are the counts of a shadow; nil if it is called instead of the active version.
	Shadow *plugin.ShadowCounts `json:"shadow,omitempty"`
}

// Usage contains the numbers of calls that concern users: ended, failed or timed out, and refused;
// and the 99th percentile of their durations in microseconds.
type Usage struct {
	Calls   int64 `json:"calls"`
	Failed  int64 `json:"failed"`
	Refused int64 `json:"refused"`
	P99     int64 `json:"p99"`
}

func newUsage(r plugin.Reading) Usage {
	return Usage{Calls: r.Calls, Failed: r.Failed, Refused: r.Refused, P99: r.P99().Microseconds()}
}

// newCandidate returns nil if there is no candidate of the cluster.
func (c *Catalog) newCandidate(id string) *Candidate {
	p, _, ok := c.opts.Manager.Trials.Find(id)
	if !ok || p.Shared() == nil {
		return nil
	}
	active, own, _ := c.opts.Manager.Trials.Readings(id)
	candidate := &Candidate{Number: p.Shared().Number, Version: p.Version, Usage: newUsage(own), Active: newUsage(active)}
	candidate.State, candidate.Reason = summary(p)
	if counts, ok := c.opts.Manager.Trials.Shadow(id); ok {
		candidate.Shadow = &counts
	}
	return candidate
}

// counts returns the numbers of ended calls of a plugin, and of failed or timed out ones.
func counts(p *plugin.Plugin) (calls, failed int64) {
	for _, e := range p.Extensions() {
		calls += e.Calls
		failed += e.Errors + e.Timeouts
	}
	return calls, failed
}

// States returns the states of the process's cluster plugins, by id.
func (c *Catalog) States() []State {
	c.mu.Lock()
	defer c.mu.Unlock()
	list := []State{}
	for id, e := range c.entries {
		if e.want != nil && c.opts.Manager.Fits(e.want.servers()) {
			list = append(list, c.stateOf(id, e))
		}
	}
	slices.SortFunc(list, func(a, b State) int { return cmp.Compare(a.PluginID, b.PluginID) })
	return list
}

func (c *Catalog) stateOf(id string, e *entry) State {
	s := State{PluginID: id, Candidate: c.newCandidate(id)}
	p, loaded := c.opts.Manager.Find(id)
	if loaded && p.Shared() != nil {
		s.Number, s.Version, s.Digest = p.Shared().Number, p.Version, p.Digest
	}
	switch {
	case !c.opts.Enabled:
		s.State, s.Reason = Disabled, "this node loads no plugins of the cluster (app.plugin.enabled, app.plugin.cluster.enabled)"
	case loaded && p.Shared() == nil:
		s.State, s.Reason = Conflict, "the node has a plugin of its own with the same id"
		if p.Path != "" {
			s.Reason += fmt.Sprintf(", from the file %q", filepath.Base(p.Path))
		}
	case e.failure != "" && e.waits:
		s.State, s.Reason = Waiting, e.failure
	case e.failure != "":
		s.State, s.Reason = Failed, e.failure
	case !loaded || !e.want.is(p) || e.busy:
		s.State = Loading
	default:
		s.State, s.Reason = summary(p)
	}
	return s
}

// summary returns the least advanced state of the extensions, and why extensions cannot run.
func summary(p *plugin.Plugin) (state, reason string) {
	order := []plugin.State{plugin.Stopped, plugin.Loaded, plugin.Paused, plugin.Started}
	least := len(order) - 1
	var reasons []string
	for _, e := range p.Extensions() {
		least = min(least, slices.Index(order, e.State))
		if e.Quarantine != "" {
			reasons = append(reasons, fmt.Sprintf("extension %q: %s", e.Class, e.Quarantine))
		}
	}
	if len(reasons) > 0 {
		return Failed, strings.Join(reasons, "; ")
	}
	return string(order[least]), ""
}

// NodeStates are the states of the plugins of the cluster on one node.
type NodeStates struct {
	NodeID string
	Role   role.Role
	// States has one state for each plugin that is for the node.
	States []State
	// Err is why the node did not respond; nil if it did.
	Err error
}

// NodeSamples are calls with a different result of a plugin's shadow on the nodes of one process,
// of which NodeID is the first.
type NodeSamples struct {
	NodeID string
	// Number is that of the version.
	Number  int64
	Samples []*trace.Sample
	// Err is why the node did not respond; nil if it did.
	Err error
}

// Of returns the state of a plugin on the node, and whether the plugin is for the node.
func (n NodeStates) Of(p Plugin) (State, bool) {
	if servers := p.servers(); len(servers) > 0 && !slices.Contains(servers, n.Role) {
		return State{}, false
	}
	if n.Err != nil {
		return State{PluginID: p.ID, State: Unknown, Reason: n.Err.Error()}, true
	}
	if i := slices.IndexFunc(n.States, func(s State) bool { return s.PluginID == p.ID }); i >= 0 {
		return n.States[i], true
	}
	return State{PluginID: p.ID, State: Loading}, true
}
