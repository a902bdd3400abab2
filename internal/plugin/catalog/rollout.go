// SPDX-License-Identifier: Apache-2.0

package catalog

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"example.org/app/internal/apierr"
	"example.org/app/internal/plugin"
	"example.org/app/internal/store"
)

// The states of a rollout.
const (
	// RolloutRunning means that nodes run the version and watch it.
	RolloutRunning = "RUNNING"
	// RolloutPaused means that nodes run the version and decide nothing.
	RolloutPaused = "PAUSED"
	// RolloutPromoted means that the version became the active one.
	RolloutPromoted = "PROMOTED"
	// RolloutAborted means that an administrator ended it, and RolloutRolledBack that a node did.
	RolloutAborted    = "ABORTED"
	RolloutRolledBack = "ROLLED_BACK"
)

// The steps that an administrator takes with a rollout.
const (
	RolloutPause   = "PAUSE"
	RolloutResume  = "RESUME"
	RolloutPromote = "PROMOTE"
	RolloutAbort   = "ABORT"
)

// rolloutSteps has the state that a step leads to from each state.
var rolloutSteps = map[string]map[string]string{
	RolloutPause:   {RolloutRunning: RolloutPaused},
	RolloutResume:  {RolloutPaused: RolloutRunning},
	RolloutPromote: {RolloutRunning: RolloutPromoted, RolloutPaused: RolloutPromoted},
	RolloutAbort:   {RolloutRunning: RolloutAborted, RolloutPaused: RolloutAborted},
}

// keptRollouts is how many rollouts of a plugin are remembered.
const keptRollouts = 100

// addRollouts completes plugins with the rollouts that have not ended.
func (c *Catalog) addRollouts(ctx context.Context, r store.Reader, list []Plugin) error {
	open, err := store.FindOpenPluginRollouts(ctx, r)
	if err != nil {
		return err
	}
	for _, rollout := range open {
		i := slices.IndexFunc(list, func(p Plugin) bool { return p.ID == rollout.PluginID })
		if i < 0 {
			continue
		}
		versions, err := store.FindPluginVersions(ctx, r, rollout.PluginID)
		if err != nil {
			return err
		}
		at := slices.IndexFunc(versions, func(v store.PluginVersion) bool { return v.Number == rollout.Number })
		if at < 0 {
			continue // Another statement of the same read may have seen a newer state.
		}
		p := &list[i]
		p.Rollout, p.trial = &rollout, versions[at]
		switch {
		case !c.tries(&rollout):
		case rollout.Mode != store.RolloutNodes:
			p.beside = c.opts.Manager.Fits(rolesOf(p.trial))
		default:
			p.mine = p.trial
		}
	}
	return nil
}

// tries reports whether this process runs the version of a rollout.
func (c *Catalog) tries(r *store.PluginRollout) bool {
	if r.Mode != store.RolloutNodes && len(r.NodeIDs) == 0 {
		return true
	}
	return slices.ContainsFunc(c.opts.NodeIDs, func(id string) bool { return slices.Contains(r.NodeIDs, id) })
}

// noRollout refuses what would interfere with a rollout.
func noRollout(ctx context.Context, r store.Reader, id string) error {
	open, err := store.FindOpenPluginRollouts(ctx, r)
	if err != nil {
		return err
	}
	if i := slices.IndexFunc(open, func(r store.PluginRollout) bool { return r.PluginID == id }); i >= 0 {
		return apierr.New(apierr.IllegalArgument, "rollout %d of plugin %q is %s: promote or abort it first", open[i].ID, id, open[i].Status)
	}
	return nil
}

// Rollouts returns the rollouts of plugins, the newest first; without ids it is those of all.
func (c *Catalog) Rollouts(ctx context.Context, ids ...string) (list []store.PluginRollout, err error) {
	err = c.opts.Store.Read(ctx, func(ctx context.Context, r store.Reader) error {
		list, err = store.FindPluginRollouts(ctx, r, ids...)
		return err
	})
	return list, err
}

// RollOut lets nodes run a version that is not active, instead of the active one or beside it. It returns when this process follows, or cannot.
func (c *Catalog) RollOut(ctx context.Context, r store.PluginRollout, by Change) (store.PluginRollout, error) {
	now := time.Now().UTC().Truncate(time.Millisecond)
	r.Mode = cmp.Or(r.Mode, store.RolloutNodes)
	r.Status, r.AdminID, r.StartDate, r.StepDate = RolloutRunning, by.AdminID, now, now
	if len(r.Steps) > 0 {
		begin(&r, 0, now)
	}
	err := c.write(ctx, func(ctx context.Context, tx store.Tx) error {
		p, err := current(ctx, tx, r.PluginID)
		if err != nil {
			return err
		}
		if err := errors.Join(by.check(p), noRollout(ctx, tx, r.PluginID)); err != nil {
			return err
		}
		versions, err := store.FindPluginVersions(ctx, tx, r.PluginID)
		if err != nil {
			return err
		}
		if !slices.ContainsFunc(versions, func(v store.PluginVersion) bool { return v.Number == r.Number }) {
			return apierr.New(apierr.ResourceNotFound, "plugin %q has no version %d", r.PluginID, r.Number)
		}
		if p.Number == r.Number {
			return apierr.New(apierr.IllegalArgument, "version %d of plugin %q is active already", r.Number, r.PluginID)
		}
		if r.ID, err = store.InsertPluginRollout(ctx, tx, r); err != nil {
			return err
		}
		return store.DeletePluginRollouts(ctx, tx, r.PluginID, keptRollouts)
	})
	if err != nil {
		return r, err
	}
	c.follow(ctx, r.PluginID)
	return r, nil
}

// Decide takes a step with a rollout in the name of an administrator. It returns when this process follows, or cannot.
func (c *Catalog) Decide(ctx context.Context, id int64, step string, by Change) (store.PluginRollout, error) {
	r, err := c.decide(ctx, id, by, func(r store.PluginRollout) (string, string, error) {
		if step == RolloutNext && r.Status == RolloutRunning {
			return next, "", nil
		}
		next, ok := rolloutSteps[step][r.Status]
		if !ok {
			return "", "", apierr.New(apierr.IllegalArgument, "rollout %d: %s is not possible: the rollout is %s", r.ID, step, r.Status)
		}
		return next, "", nil
	})
	if err != nil {
		return r, err
	}
	c.follow(ctx, r.PluginID)
	return r, nil
}

// Resplit changes the users of a rollout that has not ended. What is nil stays. It returns when this process follows, or
// cannot.
func (c *Catalog) Resplit(ctx context.Context, id int64, percentage *int32, userIDs []int64) (r store.PluginRollout, err error) {
	err = c.write(ctx, func(ctx context.Context, tx store.Tx) error {
		if r, err = store.FindPluginRollout(ctx, tx, id); errors.Is(err, store.ErrNotFound) {
			return apierr.New(apierr.ResourceNotFound, "there is no rollout %d", id)
		} else if err != nil {
			return err
		}
		switch {
		case r.EndDate != nil:
			return apierr.New(apierr.IllegalArgument, "rollout %d: its users cannot be changed: the rollout is %s", id, r.Status)
		case r.Mode == store.RolloutNodes:
			return apierr.New(apierr.IllegalArgument, "rollout %d is by nodes: it has no users", id)
		case percentage != nil && len(r.Steps) > 0:
			return apierr.New(apierr.IllegalArgument, "rollout %d has steps, which say its percentage: begin the next one", id)
		}
		if percentage != nil {
			r.Percentage = *percentage
		}
		if userIDs != nil {
			r.UserIDs = userIDs
		}
		r.StepDate = time.Now().UTC().Truncate(time.Millisecond)
		return store.UpdatePluginRollout(ctx, tx, r)
	})
	if err != nil {
		return r, err
	}
	c.follow(ctx, r.PluginID)
	return r, nil
}

// decide changes the status of a rollout as choose says; "" leaves it as it is, and next begins its next step.
func (c *Catalog) decide(ctx context.Context, id int64, by Change, choose func(store.PluginRollout) (status, reason string, err error)) (r store.PluginRollout, err error) {
	err = c.write(ctx, func(ctx context.Context, tx store.Tx) error {
		if r, err = store.FindPluginRollout(ctx, tx, id); errors.Is(err, store.ErrNotFound) {
			return apierr.New(apierr.ResourceNotFound, "there is no rollout %d", id)
		} else if err != nil {
			return err
		}
		status, reason, err := choose(r)
		if err != nil || status == "" {
			return err
		}
		now := time.Now().UTC().Truncate(time.Millisecond)
		if status == next {
			if err := advance(&r, now, reason); err != nil {
				return err
			}
			return store.UpdatePluginRollout(ctx, tx, r)
		}
		r.Status, r.Reason = status, reason
		switch status {
		case RolloutRunning:
			r.StepDate = now
		case RolloutPaused:
		default:
			r.EndDate = &now
		}
		if status == RolloutPromoted {
			p, err := current(ctx, tx, r.PluginID)
			if err != nil {
				return err
			}
			p.Number = r.Number
			if _, err := by.apply(ctx, tx, p); err != nil {
				return err
			}
		}
		return store.UpdatePluginRollout(ctx, tx, r)
	})
	return r, err
}

// judge ends rollouts that this process takes part in: too many failures roll back, and the time without them promotes.
func (c *Catalog) judge(ctx context.Context) error {
	c.mu.Lock()
	verdicts := map[int64]verdict{}
	for id, e := range c.entries {
		if e.want != nil && e.want.Rollout != nil && e.want.Rollout.Status == RolloutRunning && c.tries(e.want.Rollout) && c.loads(e.want) && (!e.busy || e.failure != "") && e.tried == c.seen {
			if v := c.verdict(id, e, time.Now()); v.status != "" {
				verdicts[e.want.Rollout.ID] = v
			}
		}
	}
	c.mu.Unlock()
	var errs []error
	for id, v := range verdicts {
		errs = append(errs, c.conclude(ctx, id, v))
	}
	return errors.Join(errs...)
}

// A verdict is how a rollout ends, or that its next step begins; a status of "" is not yet.
type verdict struct {
	status, operation, reason string
	// step is when the step began that did well; zero if it did not.
	step time.Time
}

// The operations in the audit trail by which nodes end rollouts.
const (
	operationPromote  = "promotePluginRollout"
	operationRollBack = "rollBackPluginRollout"
)

// verdict decides about a rollout by what this process saw of the version. The lock is held.
func (c *Catalog) verdict(id string, e *entry, now time.Time) verdict {
	r := e.want.Rollout
	rollBack := func(format string, args ...any) verdict {
		return verdict{RolloutRolledBack, operationRollBack, fmt.Sprintf("node %s: ", c.opts.NodeIDs[0]) + fmt.Sprintf(format, args...), time.Time{}}
	}
	if e.failure != "" && (!e.want.beside || e.failed == try) {
		return rollBack("%s", e.failure)
	}
	p, ok := c.opts.Manager.Find(id)
	if e.want.beside {
		p, _, ok = c.opts.Manager.Trial(id)
	}
	if !ok || !runs(p, e.want.trial) {
		return verdict{}
	}
	if state, reason := summary(p); state == Failed {
		return rollBack("%s", reason)
	}
	if e.want.beside {
		return c.compare(id, p, e, now, rollBack)
	}
	calls, failed := counts(p)
	switch {
	case calls < r.MinCalls:
		return verdict{}
	case failed*100 > int64(r.MaxErrorPercentage)*calls:
		return rollBack("%d of %d calls failed, more than %d %%", failed, calls, r.MaxErrorPercentage)
	case r.PromoteAfterMillis > 0 && now.Sub(r.StepDate) >= time.Duration(r.PromoteAfterMillis)*time.Millisecond:
		return onward(r, "node %s: %d of %d calls failed", c.opts.NodeIDs[0], failed, calls)
	}
	return verdict{}
}

// compare decides about a rollout by what the candidate did beside the active version. The lock is held.
func (c *Catalog) compare(id string, candidate *plugin.Plugin, e *entry, now time.Time, rollBack func(string, ...any) verdict) verdict {
	r, s := e.want.Rollout, sample{at: now}
	var ok bool
	if s.stable, s.candidate, ok = c.opts.Manager.Readings(id); !ok {
		return verdict{}
	}
	step, last := e.watch.look(candidate, r, s)
	if reason := last.worse(r); reason != "" {
		return rollBack("in the last %s %s", recent, reason)
	}
	if reason := step.worse(r); reason != "" {
		return rollBack("%s", reason)
	}
	if r.PromoteAfterMillis > 0 && step.candidate.Calls >= r.MinCalls && now.Sub(r.StepDate) >= time.Duration(r.PromoteAfterMillis)*time.Millisecond {
		return onward(r, "node %s: %d of %d calls failed and %d were refused, of the active version %d of %d and %d", c.opts.NodeIDs[0],
			step.candidate.Failed, step.candidate.Calls, step.candidate.Refused, step.stable.Failed, step.stable.Calls, step.stable.Refused)
	}
	return verdict{}
}

// conclude ends a rollout or begins its next step, unless somebody else was faster.
func (c *Catalog) conclude(ctx context.Context, id int64, v verdict) error {
	isOpen := false
	// What did well counts for its own step only.
	holds := func(r store.PluginRollout) bool {
		return r.Status == RolloutRunning && (v.step.IsZero() || v.step.Equal(r.StepDate))
	}
	err := c.opts.Store.Read(ctx, func(ctx context.Context, r store.Reader) error {
		found, err := store.FindPluginRollout(ctx, r, id)
		if errors.Is(err, store.ErrNotFound) {
			return nil // The plugin was removed.
		}
		isOpen = holds(found)
		return err
	})
	if err != nil || !isOpen {
		return err
	}
	act := c.opts.Act
	if act == nil {
		act = func(ctx context.Context, _ string, fn func(context.Context) error) error { return fn(ctx) }
	}
	return act(ctx, v.operation, func(ctx context.Context) error {
		r, err := c.decide(ctx, id, Change{}, func(r store.PluginRollout) (string, string, error) {
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
		case !isOpen: // Somebody else was faster.
		case r.EndDate == nil:
			c.opts.Logger.Info("a rollout goes on", "plugin", r.PluginID, "rollout", id, "percentage", r.Percentage, "reason", v.reason)
		default:
			c.opts.Logger.Warn("a rollout ended", "plugin", r.PluginID, "rollout", id, "status", r.Status, "reason", r.Reason)
		}
		if c.opts.Changed != nil {
			c.opts.Changed()
		}
		return c.Refresh(ctx)
	})
}
