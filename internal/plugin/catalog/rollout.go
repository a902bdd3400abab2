// SPDX-License-Identifier: Apache-2.0

package catalog

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"example.org/app/internal/apierr"
	"example.org/app/internal/store"
)

// The states of a rollout.
const (
	// RolloutRunning means that nodes run and observe the version.
	RolloutRunning = "RUNNING"
	// RolloutPaused means that nodes run the version without decisions.
	RolloutPaused = "PAUSED"
	// RolloutPromoted means that the version became the active one.
	RolloutPromoted = "PROMOTED"
	// RolloutAborted means that an administrator ended it, and RolloutRolledBack that a node did.
	RolloutAborted    = "ABORTED"
	RolloutRolledBack = "ROLLED_BACK"
)

// The actions of an administrator on a rollout.
const (
	RolloutPause   = "PAUSE"
	RolloutResume  = "RESUME"
	RolloutPromote = "PROMOTE"
	RolloutAbort   = "ABORT"
)

// rolloutSteps maps states and actions to the resulting state.
var rolloutSteps = map[string]map[string]string{
	RolloutPause:   {RolloutRunning: RolloutPaused},
	RolloutResume:  {RolloutPaused: RolloutRunning},
	RolloutPromote: {RolloutRunning: RolloutPromoted, RolloutPaused: RolloutPromoted},
	RolloutAbort:   {RolloutRunning: RolloutAborted, RolloutPaused: RolloutAborted},
}

// keptRollouts is how many rollouts of a plugin are kept.
const keptRollouts = 100

// Rollouts begins, observes and ends the rollouts of a Catalog's plugins.
type Rollouts struct{ catalog *Catalog }

// addRollouts adds open rollouts to plugins.
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

// noRollout returns an error for what would interfere with a rollout.
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

// Find returns the rollouts of plugins, or of all without ids, the newest first.
func (o *Rollouts) Find(ctx context.Context, ids ...string) (list []store.PluginRollout, err error) {
	err = o.catalog.opts.Store.Read(ctx, func(ctx context.Context, r store.Reader) error {
		list, err = store.FindPluginRollouts(ctx, r, ids...)
		return err
	})
	return list, err
}

// Shadow returns a rollout with copies of calls; isLast is true if it is the last one of its
// plugin.
func (o *Rollouts) Shadow(ctx context.Context, id int64) (r store.PluginRollout, isLast bool, err error) {
	err = o.catalog.opts.Store.Read(ctx, func(ctx context.Context, reader store.Reader) error {
		if r, err = findRollout(ctx, reader, id); err != nil {
			return err
		}
		if r.Mode != store.RolloutShadow {
			return apierr.New(apierr.IllegalArgument, "rollout %d is no shadow: it has no samples", id)
		}
		list, err := store.FindPluginRollouts(ctx, reader, r.PluginID)
		i := slices.IndexFunc(list, func(r store.PluginRollout) bool { return r.Mode == store.RolloutShadow })
		isLast = i >= 0 && list[i].ID == id
		return err
	})
	return r, isLast, err
}

// findRollout reads one rollout.
func findRollout(ctx context.Context, reader store.Reader, id int64) (store.PluginRollout, error) {
	r, err := store.FindPluginRollout(ctx, reader, id)
	if errors.Is(err, store.ErrNotFound) {
		err = apierr.New(apierr.ResourceNotFound, "there is no rollout %d", id)
	}
	return r, err
}

// Begin makes nodes run a version that is not active, instead of the active one or beside it. It
// returns when this process has applied it, or cannot.
func (o *Rollouts) Begin(ctx context.Context, r store.PluginRollout, by Change) (store.PluginRollout, error) {
	now := time.Now().UTC().Truncate(time.Millisecond)
	r.Mode = cmp.Or(r.Mode, store.RolloutNodes)
	r.Status, r.AdminID, r.StartDate, r.StepDate = RolloutRunning, by.AdminID, now, now
	if len(r.Steps) > 0 {
		begin(&r, 0, now)
	}
	err := o.catalog.write(ctx, func(ctx context.Context, tx store.Tx) error {
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
	o.catalog.follow(ctx, r.PluginID)
	return r, nil
}

// Decide applies an administrator's action to a rollout. It returns when this process has applied
// it, or cannot.
func (o *Rollouts) Decide(ctx context.Context, id int64, step string, by Change) (store.PluginRollout, error) {
	r, err := o.decide(ctx, id, by, o.figures(ctx, id), func(r store.PluginRollout) (string, string, error) {
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
	o.catalog.follow(ctx, r.PluginID)
	return r, nil
}

// Resplit changes the users of an open rollout. Nil arguments leave their values unchanged. It
// returns when this process has applied it, or cannot.
func (o *Rollouts) Resplit(ctx context.Context, id int64, percentage *int32, userIDs []int64) (r store.PluginRollout, err error) {
	err = o.catalog.write(ctx, func(ctx context.Context, tx store.Tx) error {
		if r, err = findRollout(ctx, tx, id); err != nil {
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
	o.catalog.follow(ctx, r.PluginID)
	return r, nil
}

// decide changes the status of a rollout to the result of choose; "" leaves it unchanged, and next
// begins its next step. If that ends the rollout, the figures are stored.
func (o *Rollouts) decide(ctx context.Context, id int64, by Change, figures *store.RolloutFigures, choose func(store.PluginRollout) (status, reason string, err error)) (r store.PluginRollout, err error) {
	err = o.catalog.write(ctx, func(ctx context.Context, tx store.Tx) error {
		if r, err = findRollout(ctx, tx, id); err != nil {
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
			r.EndDate, r.Figures = &now, figures
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
