// SPDX-License-Identifier: Apache-2.0

package catalog

import (
	"context"
	"errors"
	"fmt"
	"time"

	"example.org/app/internal/apierr"
	"example.org/app/internal/store"
)

// judge ends rollouts. Each process rolls back what fails on it, and the leader what fails on all
// of them together; only the leader promotes.
func (o *Rollouts) judge(ctx context.Context) error {
	return errors.Join(o.judgeOwn(ctx), o.judgeAll(ctx))
}

// judgeOwn rolls back what fails on this process.
func (o *Rollouts) judgeOwn(ctx context.Context) error {
	verdicts := map[int64]verdict{}
	o.catalog.mu.Lock()
	for r, reason := range o.look(time.Now()) {
		if r.Status == RolloutRunning {
			verdicts[r.ID] = verdict{RolloutRolledBack, operationRollBack, fmt.Sprintf("node %s: %s", o.catalog.opts.NodeIDs[0], reason), time.Time{}}
		}
	}
	o.catalog.mu.Unlock()
	return o.concludeAll(ctx, verdicts)
}

// look records this process's observations of rollouts, and returns those that fail with the
// reason. The lock is held.
func (o *Rollouts) look(now time.Time) map[*store.PluginRollout]string {
	reasons := map[*store.PluginRollout]string{}
	for id, e := range o.catalog.entries {
		if e.want == nil || e.want.Rollout == nil || !o.catalog.tries(e.want.Rollout) || !o.catalog.loads(e.want) || o.conflicts(id) {
			e.evidence = nil
			continue
		}
		r := e.want.Rollout
		e.evidence = &Evidence{RolloutID: r.ID, Step: r.StepDate}
		if e.busy && e.failure == "" || e.tried != o.catalog.seen {
			continue
		}
		if reason := o.observe(id, e, now); reason != "" {
			reasons[r] = reason
		}
	}
	return reasons
}

// conflicts reports whether the node has its own plugin with the id, which takes precedence.
func (o *Rollouts) conflicts(id string) bool {
	p, ok := o.catalog.opts.Manager.Find(id)
	return ok && p.Shared() == nil
}

// observe updates the figures of an entry, and returns why the rollout must end; "" if it need not.
// The lock is held.
func (o *Rollouts) observe(id string, e *entry, now time.Time) (reason string) {
	if e.failure != "" && (!e.want.beside || e.failed == try) {
		return e.failure
	}
	p, ok := o.catalog.opts.Manager.Find(id)
	if e.want.beside {
		p, _, ok = o.catalog.opts.Manager.Trials.Find(id)
	}
	if !ok || !runs(p, e.want.trial) {
		return ""
	}
	if state, reason := summary(p); state == Failed {
		return reason
	}
	var seen Comparison
	if e.want.beside {
		if seen.Active, seen.Candidate, ok = o.catalog.opts.Manager.Trials.Readings(id); !ok {
			return ""
		}
		seen.Shadow, _ = o.catalog.opts.Manager.Trials.Shadow(id)
	} else {
		seen.Candidate.Calls, seen.Candidate.Failed = counts(p)
	}
	e.evidence.Runs = true
	e.evidence.Whole, e.evidence.Recent = e.watch.look(p, e.want.Rollout, sample{now, seen})
	return worse(e.want.Rollout, e.evidence.Whole, e.evidence.Recent)
}

// judgeAll ends rollouts by the figures of all processes, if this one leads.
func (o *Rollouts) judgeAll(ctx context.Context) error {
	if o.catalog.opts.Leads != nil && !o.catalog.opts.Leads() {
		return nil
	}
	o.catalog.mu.Lock()
	var running []*Plugin
	for _, e := range o.catalog.entries {
		if e.want != nil && e.want.Rollout != nil && e.want.Rollout.Status == RolloutRunning {
			running = append(running, e.want)
		}
	}
	o.catalog.mu.Unlock()
	if len(running) == 0 {
		return nil
	}
	evidence := o.gather(ctx)
	verdicts := map[int64]verdict{}
	for _, p := range running {
		if v := p.verdict(sum(evidence, p.Rollout, p.trial), time.Now()); v.status != "" {
			verdicts[p.Rollout.ID] = v
		}
	}
	return o.concludeAll(ctx, verdicts)
}

// verdict decides about the rollout of a plugin by the figures of all processes.
func (p *Plugin) verdict(f findings, now time.Time) verdict {
	r := p.Rollout
	if len(f.nodeIDs) == 0 {
		return verdict{}
	}
	who := "node " + f.nodeIDs[0]
	if n := len(f.nodeIDs); n > 1 {
		who = fmt.Sprintf("%d nodes together", n)
	}
	if reason := worse(r, f.whole, f.recent); reason != "" {
		return verdict{RolloutRolledBack, operationRollBack, who + ": " + reason, r.StepDate}
	}
	whole := f.whole
	if !f.complete || r.PromoteAfterMillis == 0 || whole.Candidate.Calls < r.MinCalls || now.Sub(r.StepDate) < time.Duration(r.PromoteAfterMillis)*time.Millisecond {
		return verdict{}
	}
	if r.Mode == store.RolloutNodes {
		return onward(r, "%s: %d of %d calls failed", who, whole.Candidate.Failed, whole.Candidate.Calls)
	}
	return onward(r, "%s: %d of %d calls failed and %d were refused, of the active version %d of %d and %d", who,
		whole.Candidate.Failed, whole.Candidate.Calls, whole.Candidate.Refused, whole.Active.Failed, whole.Active.Calls, whole.Active.Refused)
}

// worse returns in what the candidate did worse than a rollout allows, in the whole step or the
// last seconds; "" if in nothing.
func worse(r *store.PluginRollout, whole, last Comparison) string {
	if reason := last.worse(r); reason != "" {
		return fmt.Sprintf("in the last %s %s", recent, reason)
	}
	return whole.worse(r)
}

// A verdict is the end or the next step of a rollout; a status of "" means neither.
type verdict struct {
	status, operation, reason string
	// step is the start of the judged step; zero if it covers all of them.
	step time.Time
}

// The operations in the audit trail for automatic ends of rollouts.
const (
	operationPromote  = "promotePluginRollout"
	operationRollBack = "rollBackPluginRollout"
)

func (o *Rollouts) concludeAll(ctx context.Context, verdicts map[int64]verdict) error {
	var errs []error
	for id, v := range verdicts {
		errs = append(errs, o.conclude(ctx, id, v))
	}
	return errors.Join(errs...)
}

// conclude ends a rollout or begins its next step, unless that was done concurrently.
func (o *Rollouts) conclude(ctx context.Context, id int64, v verdict) error {
	isOpen, pluginID := false, ""
	// Figures of a step count only for that one.
	holds := func(r store.PluginRollout) bool {
		return r.Status == RolloutRunning && (v.step.IsZero() || v.step.Equal(r.StepDate))
	}
	err := o.catalog.opts.Store.Read(ctx, func(ctx context.Context, r store.Reader) error {
		found, err := store.FindPluginRollout(ctx, r, id)
		if errors.Is(err, store.ErrNotFound) {
			return nil // The plugin was removed.
		}
		isOpen, pluginID = holds(found), found.PluginID
		return err
	})
	if err != nil || !isOpen {
		return err
	}
	figures := o.figures(ctx, id)
	act := o.catalog.opts.Act
	if act == nil {
		act = func(ctx context.Context, _ string, _ map[string]any, fn func(context.Context) error) error {
			return fn(ctx)
		}
	}
	return act(ctx, v.operation, map[string]any{"id": id, "pluginId": pluginID}, func(ctx context.Context) error {
		r, err := o.decide(ctx, id, Change{}, figures, func(r store.PluginRollout) (string, string, error) {
			if isOpen = holds(r); !isOpen {
				return "", "", nil
			}
			return v.status, v.reason, nil
		})
		if err != nil && apierr.From(err).Code == apierr.ResourceNotFound {
			return nil // The plugin was removed.
		}
		if err != nil {
			return fmt.Errorf("end rollout %d: %w", id, err)
		}
		switch {
		case !isOpen: // Another node was faster.
		case r.EndDate == nil:
			o.catalog.opts.Logger.Info("a rollout goes on", "plugin", r.PluginID, "rollout", id, "percentage", r.Percentage, "reason", v.reason)
		default:
			o.catalog.opts.Logger.Warn("a rollout ended", "plugin", r.PluginID, "rollout", id, "status", r.Status, "reason", r.Reason)
		}
		if o.catalog.opts.Changed != nil {
			o.catalog.opts.Changed()
		}
		return o.catalog.Refresh(ctx)
	})
}
