// SPDX-License-Identifier: Apache-2.0

package catalog

import (
	"cmp"
	"context"
	"slices"
	"time"

	"example.org/app/internal/plugin"
	"example.org/app/internal/role"
	"example.org/app/internal/store"
)

// Evidence contains one process's figures of a rollout.
type Evidence struct {
	RolloutID int64 `json:"rolloutId"`
	// Step is the start of the step that it belongs to.
	Step time.Time `json:"step"`
	// Runs is true if the process runs the version; otherwise it should, but cannot yet.
	Runs bool `json:"runs"`
	// Whole covers the whole step, and Recent the last seconds.
	Whole  Comparison `json:"whole"`
	Recent Comparison `json:"recent"`
}

// A Comparison contains the figures of the active version and the candidate. Of a rollout by nodes
// only the candidate's are known.
type Comparison struct {
	Active    plugin.Reading      `json:"active"`
	Candidate plugin.Reading      `json:"candidate"`
	Shadow    plugin.ShadowCounts `json:"shadow,omitzero"`
}

func (c Comparison) since(before Comparison) Comparison {
	return Comparison{c.Active.Since(before.Active), c.Candidate.Since(before.Candidate), c.Shadow.Since(before.Shadow)}
}

func (c Comparison) plus(other Comparison) Comparison {
	return Comparison{c.Active.Plus(other.Active), c.Candidate.Plus(other.Candidate), c.Shadow.Plus(other.Shadow)}
}

// ProcessEvidence contains one process's figures of all rollouts.
type ProcessEvidence struct {
	NodeIDs  []string
	Roles    []role.Role
	Evidence []Evidence
	// Err is why the process did not respond; nil if it did.
	Err error
}

// concerns reports whether the process should run the version of a rollout.
func (p *ProcessEvidence) concerns(r *store.PluginRollout, v store.PluginVersion) bool {
	named := len(r.NodeIDs) == 0 || slices.ContainsFunc(p.NodeIDs, func(id string) bool { return slices.Contains(r.NodeIDs, id) })
	servers := rolesOf(v)
	return named && (len(servers) == 0 || slices.ContainsFunc(p.Roles, func(r role.Role) bool { return slices.Contains(servers, r) }))
}

// name returns the id of its first node.
func (p *ProcessEvidence) name() string {
	if len(p.NodeIDs) == 0 {
		return ""
	}
	return p.NodeIDs[0]
}

// Evidence returns this process's figures of open rollouts.
func (o *Rollouts) Evidence() (list []Evidence) {
	o.catalog.mu.Lock()
	defer o.catalog.mu.Unlock()
	_ = o.look(time.Now()) // The next judgement handles failures.
	for _, e := range o.catalog.entries {
		if e.evidence != nil {
			list = append(list, *e.evidence)
		}
	}
	slices.SortFunc(list, func(a, b Evidence) int { return cmp.Compare(a.RolloutID, b.RolloutID) })
	return list
}

// gather returns the evidence of all processes.
func (o *Rollouts) gather(ctx context.Context) []ProcessEvidence {
	if o.catalog.opts.Gather == nil {
		return []ProcessEvidence{{NodeIDs: o.catalog.opts.NodeIDs, Evidence: o.Evidence()}}
	}
	return o.catalog.opts.Gather(ctx)
}

// findings are the sums of all processes for a step of a rollout.
type findings struct {
	whole, recent Comparison
	// nodeIDs has one node of each process with figures.
	nodeIDs []string
	// complete is true if all processes that should run the version do, and responded.
	complete bool
}

// sum adds up the figures of a rollout.
func sum(list []ProcessEvidence, r *store.PluginRollout, v store.PluginVersion) findings {
	f := findings{complete: true}
	for i := range list {
		p := &list[i]
		if p.Err != nil && p.concerns(r, v) {
			f.complete = false
		}
		for _, e := range p.Evidence {
			switch {
			case e.RolloutID != r.ID:
			case !e.Runs, !e.Step.Equal(r.StepDate):
				f.complete = false
			default:
				f.whole, f.recent = f.whole.plus(e.Whole), f.recent.plus(e.Recent)
				f.nodeIDs = append(f.nodeIDs, p.name())
			}
		}
	}
	return f
}

// figuresTimeout is how long the end of a rollout waits for unresponsive nodes.
const figuresTimeout = 500 * time.Millisecond

// figures returns the figures of all nodes for the current step of a rollout; nil if there are
// none.
func (o *Rollouts) figures(ctx context.Context, id int64) *store.RolloutFigures {
	ctx, cancel := context.WithTimeout(ctx, figuresTimeout)
	defer cancel()
	o.catalog.mu.Lock()
	var want *Plugin
	for _, e := range o.catalog.entries {
		if e.want != nil && e.want.rolloutID() == id {
			want = e.want
		}
	}
	o.catalog.mu.Unlock()
	if want == nil {
		return nil
	}
	f := sum(o.gather(ctx), want.Rollout, want.trial)
	if len(f.nodeIDs) == 0 {
		return nil
	}
	usage := func(r plugin.Reading) store.RolloutUsage {
		return store.RolloutUsage{Calls: r.Calls, Failed: r.Failed, Refused: r.Refused, P99Micros: r.P99().Microseconds()}
	}
	figures := &store.RolloutFigures{Nodes: len(f.nodeIDs), Candidate: usage(f.whole.Candidate), Active: usage(f.whole.Active)}
	if want.Rollout.Mode == store.RolloutShadow {
		s := f.whole.Shadow
		figures.Shadow = &store.RolloutCopies{Calls: s.Calls, Equal: s.Equal, Different: s.Different, Failed: s.Failed, Dropped: s.Dropped}
	}
	return figures
}
