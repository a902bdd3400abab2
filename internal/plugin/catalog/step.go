// SPDX-License-Identifier: Apache-2.0

package catalog

import (
	"fmt"
	"time"

	"example.org/app/internal/apierr"
	"example.org/app/internal/store"
)

// RolloutNext is the action that begins the next step of a rollout.
const RolloutNext = "NEXT"

// next stands for the next step where others are statuses.
const next = "next step"

// operationAdvance is the operation in the audit trail for automatic steps of a rollout.
const operationAdvance = "advancePluginRollout"

// begin sets the current step of a rollout.
func begin(r *store.PluginRollout, step int, now time.Time) {
	s := &r.Steps[step]
	s.StartDate, r.StepDate = &now, now
	r.Percentage, r.PromoteAfterMillis = s.Percentage, s.AfterMillis
}

// advance begins the next step of a rollout.
func advance(r *store.PluginRollout, now time.Time, reason string) error {
	step := r.Step()
	if step+1 >= len(r.Steps) {
		return apierr.New(apierr.IllegalArgument, "rollout %d has no further step: promote it", r.ID)
	}
	r.Steps[step].Reason = reason
	begin(r, step+1, now)
	return nil
}

// onward returns the verdict for a successful step: the next one, or the end if there is none.
func onward(r *store.PluginRollout, format string, args ...any) verdict {
	reason := fmt.Sprintf(format, args...)
	if r.Step()+1 < len(r.Steps) {
		return verdict{next, operationAdvance, reason, r.StepDate}
	}
	return verdict{RolloutPromoted, operationPromote, reason, r.StepDate}
}
