// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"example.org/app/internal/apierr"
	"example.org/app/internal/config"
)

// greedy is a plugin whose calls take a tenth of a second of a processor each.
func (w *world) greedy() (*Plugin, *usage) {
	used := &usage{}
	return w.addScript("greedy", script{id: "greedy", version: "1", usage: used, extensions: []functions{transforms(func(_ context.Context, r *ClientRequest) (any, error) {
		time.Sleep(100 * time.Millisecond)
		used.cpu.Add(int64(100 * time.Millisecond))
		return r, nil
	})}}), used
}

// TestMemoryLimit slows a plugin down that holds too much, then refuses its calls, then takes it
// out of service.
func TestMemoryLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.set(func(s *config.Plugin) { s.Limits.Memory = 1000 })
		p, used := w.greedy()
		used.memory.Store(1000)
		time.Sleep(time.Minute)
		if p.Excess() != "" {
			t.Errorf("it is said %q", p.Excess())
		}
		took := func() (time.Duration, error) {
			begin := time.Now()
			_, err := w.transform(1)
			return time.Since(begin), err
		}
		if d, err := took(); d != 100*time.Millisecond || err != nil {
			t.Errorf("a call within the limit took %s, %v", d, err)
		}
		used.memory.Store(1001)
		time.Sleep(3 * time.Second)
		if d, err := took(); d != 200*time.Millisecond || err != nil {
			t.Errorf("a call of a plugin that is slowed down took %s, %v", d, err)
		}
		if want := "the plugin holds 1001 bytes, 1000 are what app.plugin.limits.memory allows; its calls wait"; p.Excess() != want {
			t.Errorf("it is said %q", p.Excess())
		}
		time.Sleep(3 * time.Second)
		if _, err := took(); !strings.Contains(p.Excess(), "its calls fail") {
			t.Errorf("it is said %q, and the error is %v", p.Excess(), err)
		} else if _, ok := errors.AsType[*ExcessError](err); !ok || apierr.From(err).Code != apierr.ServerInternalError {
			t.Errorf("the error is %v", err)
		}
		used.memory.Store(1000)
		time.Sleep(6 * time.Second)
		if d, err := took(); d != 100*time.Millisecond || err != nil || p.Excess() != "" {
			t.Errorf("a call within the limit again took %s, %v, %q", d, err, p.Excess())
		}
		used.memory.Store(1001)
		time.Sleep(10 * time.Second)
		if got := p.Extensions()[0].Quarantine; !strings.HasPrefix(got, "quarantined because it went on to use more than it may: the plugin holds 1001 bytes") {
			t.Errorf("the reason is %q", got)
		}
		used.memory.Store(0)
		w.do(p, Resume)
		if d, err := took(); d != 100*time.Millisecond || err != nil {
			t.Errorf("a call after it was resumed took %s, %v", d, err)
		}
	})
}

// TestCPULimit slows a plugin down that computes too much, refuses its calls, lets it go on when
// that helped, and takes it out of service when it does that repeatedly.
func TestCPULimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.set(func(s *config.Plugin) { s.Limits.CPUShare = 20 })
		p, used := w.greedy()
		var seen []string
		for end := time.Now().Add(10 * time.Minute); p.Extensions()[0].Quarantine == "" && time.Now().Before(end); {
			_, what, _ := strings.Cut(p.Excess(), "; ")
			if len(seen) == 0 || seen[len(seen)-1] != what {
				seen = append(seen, what)
			}
			if _, err := w.transform(1); err != nil {
				time.Sleep(100 * time.Millisecond)
			}
		}
		round := []string{"", "its calls wait", "its calls fail", "its calls wait"}
		if !slices.Equal(seen[:4], round) || len(seen) < 8 {
			t.Errorf("what was done is %q", seen)
		}
		if got := p.Extensions()[0].Quarantine; !strings.Contains(got, "percent of a processor, 20 are what app.plugin.limits.cpu-share allows") {
			t.Errorf("the reason is %q", got)
		}
		if used.cpu.Load() == 0 {
			t.Error("nothing was used")
		}
	})
}

// TestRefusedPluginIsCalledAgain proves that a plugin is judged by what it does while its calls are
// refused, not by what it did before, however much that was.
func TestRefusedPluginIsCalledAgain(t *testing.T) {
	limits := config.PluginLimits{CPUShare: 10}
	now, cpu := time.Now(), time.Duration(0)
	var e excess
	var seen []measure
	for len(seen) < 3 {
		if s := e.state.Load(); s == nil || s.measure != refuse {
			cpu += excessInterval // Its calls keep a processor busy.
		}
		now = now.Add(excessInterval)
		reason := e.exceeded(now, cpu, 0, limits)
		if m, changed := e.next(now, reason); changed {
			seen = append(seen, m)
			e.state.Store(&excessState{m, reason})
		}
	}
	if want := []measure{slow, refuse, slow}; !slices.Equal(seen, want) {
		t.Errorf("the measures are %v, want %v", seen, want)
	}
}
