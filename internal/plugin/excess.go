// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"context"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"example.org/app/internal/config"
)

// An ExcessError means that a call was refused because the plugin exceeds its limits.
type ExcessError struct{ Reason string }

func (e *ExcessError) Error() string { return e.Reason }

// A measure is the reaction to a plugin that exceeds its limits.
type measure int

// The measures, in increasing order; each follows if the previous one does not help.
const (
	none measure = iota
	slow
	refuse
	quarantine
)

const (
	// excessInterval is the interval of usage checks, and excessWindow the number of checks over
	// which processor time is averaged. While a measure is in effect, only the usage since then
	// counts.
	excessInterval = time.Second
	excessWindow   = 4
	// excessLooks is the number of successive checks after which the next measure is taken, or the
	// last one lifted.
	excessLooks = 3
	// slowTime is the delay of each call of a throttled plugin.
	slowTime = 100 * time.Millisecond
	// A plugin whose calls had to be refused maxRefusals times within refusalWindow is quarantined.
	maxRefusals   = 5
	refusalWindow = 10 * time.Minute
)

// excess is how a plugin exceeds its limits, and the measure in effect.
type excess struct {
	// state is read by calls.
	state atomic.Pointer[excessState]

	// Only the goroutine that watches the usage uses these.
	samples     []sample
	over, under int
	refusals    []time.Time
}

type excessState struct {
	measure measure
	reason  string
}

// sample is the processor time that a plugin had used at a time.
type sample struct {
	at  time.Time
	cpu time.Duration
}

// admit delays or refuses a call, depending on the measure in effect.
func (e *excess) admit(ctx context.Context) error {
	s := e.state.Load()
	if s == nil {
		return nil
	}
	if s.measure == refuse {
		return &ExcessError{s.reason}
	}
	timer := time.NewTimer(slowTime)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// exceeded returns which limit a plugin exceeds; "" if none.
func (e *excess) exceeded(now time.Time, cpu time.Duration, memory int64, limits config.PluginLimits) string {
	e.samples = append(e.samples, sample{now, cpu})
	if len(e.samples) > excessWindow+1 {
		e.samples = e.samples[1:]
	}
	if limits.Memory > 0 && memory > limits.Memory {
		return fmt.Sprintf("the plugin holds %d bytes, %d are what app.plugin.limits.memory allows", memory, limits.Memory)
	}
	first := e.samples[0]
	judged := len(e.samples) > excessWindow || len(e.samples) > 1 && e.state.Load() != nil
	if elapsed := now.Sub(first.at); limits.CPUShare > 0 && judged {
		if share := int64((cpu - first.cpu) * 100 / elapsed); share > int64(limits.CPUShare) {
			return fmt.Sprintf("the plugin uses %d percent of a processor, %d are what app.plugin.limits.cpu-share allows", share, limits.CPUShare)
		}
	}
	return ""
}

// next returns the measure from now on; changed is false if it is the same as before.
func (e *excess) next(now time.Time, reason string) (m measure, changed bool) {
	old := none
	if s := e.state.Load(); s != nil {
		old = s.measure
	}
	m = old
	if reason != "" {
		e.over, e.under = e.over+1, 0
	} else {
		e.over, e.under = 0, e.under+1
	}
	switch {
	case e.over >= excessLooks:
		m++
	case e.under >= excessLooks && m > none:
		m--
	}
	if m == old {
		return m, false
	}
	e.over, e.under = 0, 0
	e.samples = e.samples[max(len(e.samples)-1, 0):]
	if m == refuse && old == slow {
		e.refusals = append(slices.DeleteFunc(e.refusals, func(t time.Time) bool { return now.Sub(t) > refusalWindow }), now)
		if len(e.refusals) >= maxRefusals {
			m = quarantine
		}
	}
	return m, true
}

// watchExcess checks the usage of plugins until the manager is closed.
func (r *Recovery) watchExcess() {
	for r.sleep(excessInterval) {
		limits := r.settings().Limits
		for _, p := range r.m.withTrials() {
			if !p.released.Load() {
				r.curb(p, limits)
			}
		}
	}
}

// curb takes measures if the plugin exceeds its limits.
func (r *Recovery) curb(p *Plugin, limits config.PluginLimits) {
	e := &p.excess
	now := time.Now()
	reason := e.exceeded(now, p.CPU(), p.Memory(), limits)
	todo, changed := e.next(now, reason)
	if !changed {
		return
	}
	logger := r.logger.With("plugin", p.ID, "version", p.Version)
	if s := e.state.Load(); reason == "" && s != nil {
		reason = s.reason
	}
	switch todo {
	case none:
		e.state.Store(nil)
		logger.Info("a plugin uses no more than it may again")
		return
	case slow:
		logger.Warn("a plugin uses more than it may, and its calls wait", "reason", reason)
	case refuse:
		logger.Warn("a plugin uses more than it may, and its calls fail", "reason", reason)
	case quarantine:
		e.samples, e.over, e.under, e.refusals = nil, 0, 0, nil
		e.state.Store(nil)
		for _, b := range p.members {
			if b.life.State() == Started {
				r.quarantine(b, "quarantined because it went on to use more than it may: "+reason)
			}
		}
		return
	}
	e.state.Store(&excessState{todo, reason})
}
