// SPDX-License-Identifier: Apache-2.0

package api

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"example.org/app/internal/apierr"
)

// Check checks a part of the process. Do returns nil if the part works, a Degraded if it works with
// a defect, or another error if it does not work.
type Check struct {
	Name string
	Do   func(context.Context) error
}

// Degraded is the defect of a part that still works.
type Degraded string

func (d Degraded) Error() string { return string(d) }

const (
	// healthTimeout bounds one check.
	healthTimeout = 2 * time.Second
	// healthAge is how long a report is cached, because everybody may request it.
	healthAge = 500 * time.Millisecond
)

// Health reports the health of the process.
type Health struct {
	checks []Check

	mu   sync.Mutex
	last HealthReport
	at   time.Time
}

// NewHealth returns the health of these parts.
func NewHealth(checks ...Check) *Health { return &Health{checks: checks} }

// HealthReport is the answer of GET /health.
type HealthReport struct {
	Status    string       `json:"status" enum:"UP,DOWN" doc:"UP if live and ready." example:"UP"`
	Liveness  string       `json:"liveness" enum:"UP" doc:"Whether the process works." example:"UP"`
	Readiness string       `json:"readiness" enum:"UP,DOWN" doc:"Whether all parts can serve." example:"UP"`
	Parts     []PartHealth `json:"parts" doc:"The parts of the process."`

	livenessOnly bool
}

// PartHealth is the health of one part.
type PartHealth struct {
	Name   string `json:"name" doc:"Name of the part." example:"store"`
	Status string `json:"status" enum:"UP,DEGRADED,DOWN" doc:"Whether it can serve; a part that is degraded can, but not as it should." example:"UP"`
	Reason string `json:"reason,omitempty" doc:"Why not. Callers without credentials are not told what may name addresses." example:"the database cannot be reached"`

	// inside says that the reason was not written for callers.
	inside bool
}

// public returns the report for callers without credentials.
func (r HealthReport) public() HealthReport {
	r.Parts = slices.Clone(r.Parts)
	for i := range r.Parts {
		if r.Parts[i].inside {
			r.Parts[i].Reason = "it cannot be reached or does not work; administrators are told more"
		}
	}
	return r
}

const up, degraded, down = "UP", "DEGRADED", "DOWN"

// Failing returns the parts that cannot serve.
func (r HealthReport) Failing() []PartHealth {
	return slices.DeleteFunc(slices.Clone(r.Parts), func(p PartHealth) bool { return p.Status != down })
}

// Outcome gives a node that is not ready the code 1201 and so the status 503.
func (r HealthReport) Outcome() (apierr.Code, string) {
	if r.Readiness == up || r.livenessOnly {
		return apierr.OK, apierr.OK.Text()
	}
	var reasons []string
	for _, p := range r.Failing() {
		reasons = append(reasons, p.Name+": "+p.Reason)
	}
	return apierr.ServerUnavailable, "not ready: " + strings.Join(reasons, "; ")
}

// Report runs all checks concurrently. Concurrent callers share a report.
func (h *Health) Report(ctx context.Context) HealthReport {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.at.IsZero() && time.Since(h.at) < healthAge {
		return h.last
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), healthTimeout)
	defer cancel()
	r := HealthReport{Status: up, Liveness: up, Readiness: up, Parts: make([]PartHealth, len(h.checks))}
	var wg sync.WaitGroup
	for i, c := range h.checks {
		wg.Go(func() {
			r.Parts[i] = PartHealth{Name: c.Name, Status: up}
			if err := c.run(ctx); err != nil {
				r.Parts[i].Status, r.Parts[i].Reason = down, err.Error()
				_, told := errors.AsType[*apierr.Error](err)
				if _, ok := errors.AsType[Degraded](err); ok {
					r.Parts[i].Status, told = degraded, true
				}
				r.Parts[i].inside = !told
			}
		})
	}
	wg.Wait()
	for _, p := range r.Parts {
		if p.Status == down {
			r.Status, r.Readiness = down, down
		}
	}
	h.last, h.at = r, time.Now()
	return r
}

// run keeps a part that panics from taking the process with it.
func (c Check) run(ctx context.Context) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v", p)
		}
	}()
	return c.Do(ctx)
}
