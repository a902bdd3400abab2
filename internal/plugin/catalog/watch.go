// SPDX-License-Identifier: Apache-2.0

package catalog

import (
	"fmt"
	"time"

	"example.org/app/internal/plugin"
	"example.org/app/internal/store"
)

// watch compares a candidate with the active version beside it, over the whole step of the rollout
// and over its last seconds, so that late failures are not hidden by earlier successes.
type watch struct {
	candidate *plugin.Plugin
	step      time.Time
	// samples are the readings of the last seconds, preceded by one older reading.
	samples []sample
	first   sample
}

// sample is what was counted at a time.
type sample struct {
	at time.Time
	Comparison
}

// recent is the duration of the last seconds.
const recent = 10 * time.Second

// look takes a sample and returns the figures since the step began, and of the last seconds.
func (w *watch) look(candidate *plugin.Plugin, r *store.PluginRollout, now sample) (step, last Comparison) {
	if w.candidate != candidate || !w.step.Equal(r.StepDate) {
		first := now
		if w.candidate != candidate {
			first = sample{at: now.at} // All of its calls belong to this step.
		}
		*w = watch{candidate: candidate, step: r.StepDate, first: first, samples: []sample{first}}
	}
	for len(w.samples) > 1 && now.at.Sub(w.samples[1].at) >= recent {
		w.samples = w.samples[1:]
	}
	step, last = now.since(w.first.Comparison), now.since(w.samples[0].Comparison)
	w.samples = append(w.samples, now)
	return step, last
}

// noise is by how much calls may always take longer.
const noise = time.Millisecond

// worse returns in what the candidate did worse than a rollout allows; "" if in nothing, or if
// there were too few calls.
func (s Comparison) worse(r *store.PluginRollout) string {
	c, a := s.Candidate, s.Active
	if c.Calls < r.MinCalls {
		return ""
	}
	if share := percent(c.Failed, c.Calls); r.Mode == store.RolloutNodes && share > float64(r.MaxErrorPercentage) {
		return fmt.Sprintf("%d of %d calls failed, more than %d %%", c.Failed, c.Calls, r.MaxErrorPercentage)
	} else if share > percent(a.Failed, a.Calls)+float64(r.MaxErrorPercentage) {
		return fmt.Sprintf("%d of %d calls failed, more than %d %% above the %d of %d of the active version", c.Failed, c.Calls, r.MaxErrorPercentage, a.Failed, a.Calls)
	}
	if d := s.Shadow; r.MaxDifferencePercentage >= 0 && d.Calls >= r.MinCalls && percent(d.Different, d.Calls) > float64(r.MaxDifferencePercentage) {
		return fmt.Sprintf("%d of %d copies of calls ended otherwise than on the active version, more than %d %%", d.Different, d.Calls, r.MaxDifferencePercentage)
	}
	if a.Calls < r.MinCalls {
		return ""
	}
	if r.MaxRefusalPercentage >= 0 && percent(c.Refused, c.Calls) > percent(a.Refused, a.Calls)+float64(r.MaxRefusalPercentage) {
		return fmt.Sprintf("%d of %d calls were refused, more than %d %% above the %d of %d of the active version", c.Refused, c.Calls, r.MaxRefusalPercentage, a.Refused, a.Calls)
	}
	if slow, usual := c.P99(), a.P99(); r.MaxLatencyPercentage > 0 && slow > usual*time.Duration(r.MaxLatencyPercentage)/100 && slow > usual+noise {
		return fmt.Sprintf("99 %% of the calls took up to %s, more than %d %% of the %s of the active version", slow, r.MaxLatencyPercentage, usual)
	}
	return ""
}

// percent returns a part in percent; 0 if all is 0.
func percent(part, all int64) float64 {
	if all == 0 {
		return 0
	}
	return 100 * float64(part) / float64(all)
}
