// SPDX-License-Identifier: Apache-2.0

package store

import (
	"context"
	"fmt"
	"time"

	"example.org/app/internal/store/sqldb"
)

// A PluginRollout is a version of a plugin of the cluster that some nodes or users try before the
// others.
type PluginRollout struct {
	ID       int64
	PluginID string
	// Number is the version that the nodes run.
	Number  int64
	NodeIDs []string
	// Mode is how the nodes run it. With RolloutUsers and RolloutShadow, empty NodeIDs mean all
	// nodes; Percentage of users get it, and those of UserIDs.
	Mode       string
	Percentage int32
	UserIDs    []int64
	Status     string
	// Reason is why it ended; "" before.
	Reason string
	// MaxErrorPercentage is how many of the calls on a node may fail, once there are at least
	// MinCalls.
	MaxErrorPercentage int32
	MinCalls           int64
	// MaxLatencyPercentage limits the 99th percentile of the calls' latency, in percent of the
	// active version's; 0 means no limit. MaxRefusalPercentage limits the additional refused calls
	// in percent; -1 means no limit. Except with RolloutNodes, MaxErrorPercentage limits the
	// additional failures.
	MaxLatencyPercentage, MaxRefusalPercentage int32
	// MaxDifferencePercentage limits the copies of calls, in percent, with a different result, with
	// RolloutShadow; -1 means no limit.
	MaxDifferencePercentage int32
	// PromoteAfterMillis is the time without too many failures after which it is promoted; 0 means
	// only by an administrator.
	PromoteAfterMillis int64
	// Steps are the steps of a rollout by users, in order. Percentage and PromoteAfterMillis are
	// those of the current, or last, step.
	Steps     []RolloutStep
	AdminID   int64
	StartDate time.Time
	// StepDate is since when failures are counted.
	StepDate time.Time
	EndDate  *time.Time
	// Figures are the figures of its last step; nil before the end, or without data.
	Figures *RolloutFigures
}

// RolloutFigures are the figures of a step of a rollout.
type RolloutFigures struct {
	// Nodes is the number of processes with data.
	Nodes     int          `json:"nodes"`
	Candidate RolloutUsage `json:"candidate"`
	Active    RolloutUsage `json:"active"`
	// Shadow is nil except with RolloutShadow.
	Shadow *RolloutCopies `json:"shadow,omitempty"`
}

// RolloutUsage are the figures of one version.
type RolloutUsage struct {
	Calls     int64 `json:"calls"`
	Failed    int64 `json:"failed"`
	Refused   int64 `json:"refused"`
	P99Micros int64 `json:"p99Micros"`
}

// RolloutCopies are the results of copies of calls.
type RolloutCopies struct {
	Calls     int64 `json:"calls"`
	Equal     int64 `json:"equal"`
	Different int64 `json:"different"`
	Failed    int64 `json:"failed"`
	Dropped   int64 `json:"dropped"`
}

// A RolloutStep is a step of a rollout by users.
type RolloutStep struct {
	Percentage int32 `json:"percentage"`
	// AfterMillis is the time without too many failures after which the next step begins or, after
	// the last one, the version is promoted; 0 means only by an administrator.
	AfterMillis int64 `json:"afterMillis"`
	// StartDate is when it began; nil before.
	StartDate *time.Time `json:"startDate,omitempty"`
	// Reason is why the next step began automatically; "" if it did not.
	Reason string `json:"reason,omitempty"`
}

// Step is the index of the current, or last, step; -1 if the rollout has no steps.
func (r *PluginRollout) Step() int {
	i := -1
	for i+1 < len(r.Steps) && r.Steps[i+1].StartDate != nil {
		i++
	}
	return i
}

func rolloutSteps(field *[]RolloutStep) document[[]RolloutStep] {
	return document[[]RolloutStep]{field, func(s []RolloutStep) any { return append([]RolloutStep{}, s...) }}
}

func rolloutFigures(field **RolloutFigures) document[*RolloutFigures] {
	return document[*RolloutFigures]{field, func(f *RolloutFigures) any { return f }}
}

// The modes of rollouts.
const (
	// RolloutNodes means that nodes run the version instead of the active one, RolloutUsers that
	// they run it beside the active one, for some users, and RolloutShadow that they run it on
	// copies of the active one's calls.
	RolloutNodes  = "NODES"
	RolloutUsers  = "USERS"
	RolloutShadow = "SHADOW"
)

var pluginRollouts = newTable("plugin_rollout", "id plugin_id number node_ids mode percentage user_ids status reason max_error_percentage min_calls max_latency_percentage max_refusal_percentage max_difference_percentage promote_after_millis "+
	"steps admin_id start_date step_date end_date figures", func(r *PluginRollout) []any {
	return []any{
		&r.ID, &r.PluginID, &r.Number, (*list)(&r.NodeIDs), &r.Mode, &r.Percentage, (*idList)(&r.UserIDs), &r.Status, &r.Reason, &r.MaxErrorPercentage, &r.MinCalls, &r.MaxLatencyPercentage, &r.MaxRefusalPercentage, &r.MaxDifferencePercentage, &r.PromoteAfterMillis,
		rolloutSteps(&r.Steps), &r.AdminID, (*millis)(&r.StartDate), (*millis)(&r.StepDate),
		optionalMillis{&r.EndDate},
		rolloutFigures(&r.Figures),
	}
})

// InsertPluginRollout stores a rollout and returns its id.
func InsertPluginRollout(ctx context.Context, tx Tx, r PluginRollout) (int64, error) {
	err := sqldb.First(ctx, tx, sqldb.New("SELECT coalesce(max(id), 0) + 1 FROM plugin_rollout"), &r.ID)
	if err == nil {
		err = pluginRollouts.insert(ctx, tx, r)
	}
	if err != nil {
		return 0, fmt.Errorf("insert a rollout of plugin %q: %w", r.PluginID, err)
	}
	return r.ID, nil
}

// FindPluginRollouts returns the rollouts of the plugins with the ids, or all without ids, the
// newest first.
func FindPluginRollouts(ctx context.Context, r Reader, pluginIDs ...string) ([]PluginRollout, error) {
	var c conditions
	anyOf(&c, "t.plugin_id", pluginIDs)
	return findRollouts(ctx, r, c)
}

// FindOpenPluginRollouts returns the rollouts that have not ended.
func FindOpenPluginRollouts(ctx context.Context, r Reader) ([]PluginRollout, error) {
	return findRollouts(ctx, r, where("t.end_date IS NULL"))
}

// FindPluginRollout returns one rollout. It returns ErrNotFound if there is none.
func FindPluginRollout(ctx context.Context, r Reader, id int64) (PluginRollout, error) {
	found, err := findRollouts(ctx, r, where("t.id = ?", id))
	if err == nil && len(found) == 0 {
		err = ErrNotFound
	}
	if err != nil {
		return PluginRollout{}, err
	}
	return found[0], nil
}

func findRollouts(ctx context.Context, r Reader, c conditions) ([]PluginRollout, error) {
	found, err := pluginRollouts.find(ctx, r, c, Page{}, "t.id DESC")
	if err != nil {
		return nil, fmt.Errorf("find rollouts of plugins: %w", err)
	}
	return found, nil
}

// UpdatePluginRollout changes the status, the reason, the users, the steps, the dates and the
// figures of a rollout.
func UpdatePluginRollout(ctx context.Context, tx Tx, r PluginRollout) error {
	var c columnChanges
	c.set("status", r.Status)
	c.set("reason", r.Reason)
	c.set("percentage", r.Percentage)
	c.setField("user_ids", (*idList)(&r.UserIDs))
	c.set("promote_after_millis", r.PromoteAfterMillis)
	c.setField("steps", rolloutSteps(&r.Steps))
	c.setField("step_date", (*millis)(&r.StepDate))
	c.setField("end_date", optionalMillis{&r.EndDate})
	c.setField("figures", rolloutFigures(&r.Figures))
	_, err := c.update(ctx, tx, pluginRollouts.name, "id", where("t.id = ?", r.ID))
	return err
}

// DeletePluginRollouts deletes ended rollouts of a plugin, except the newest ones.
func DeletePluginRollouts(ctx context.Context, tx Tx, pluginID string, keep int) error {
	_, err := sqldb.Exec(ctx, tx, sqldb.New("DELETE FROM plugin_rollout WHERE plugin_id = ? AND end_date IS NOT NULL AND id NOT IN "+
		"(SELECT id FROM plugin_rollout WHERE plugin_id = ? ORDER BY id DESC LIMIT ?)", pluginID, pluginID, keep))
	if err != nil {
		return fmt.Errorf("delete old rollouts of plugin %q: %w", pluginID, err)
	}
	return nil
}
