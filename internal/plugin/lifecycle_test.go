// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// outcome is how a hook ends.
type outcome string

const (
	succeeds outcome = "succeeds"
	throws   outcome = "throws"
	timesOut outcome = "times out"
)

var errThrown = errors.New("thrown")

// newLife returns a life in a state whose hooks end like that.
func newLife(state State, end *outcome, ran *[]Hook) *life {
	return &life{
		run: func(ctx context.Context, h Hook) error {
			*ran = append(*ran, h)
			switch *end {
			case throws:
				return errThrown
			case timesOut:
				<-ctx.Done()
				return ctx.Err()
			}
			return nil
		},
		timeout: func() time.Duration { return time.Second }, changed: func(State, State) {}, state: state,
	}
}

// TestEveryTransition goes through every state, hook and outcome. The table is the contract, in
// full.
func TestEveryTransition(t *testing.T) {
	type triple struct {
		state State
		hook  Hook
		end   outcome
	}
	want := map[triple]State{ // what is not here does not run
		{Loaded, Start, succeeds}:  Started,
		{Loaded, Start, throws}:    Loaded,
		{Loaded, Start, timesOut}:  Loaded,
		{Loaded, Stop, succeeds}:   Stopped,
		{Loaded, Stop, throws}:     Stopped,
		{Loaded, Stop, timesOut}:   Stopped,
		{Started, Pause, succeeds}: Paused,
		{Started, Pause, throws}:   Paused,
		{Started, Pause, timesOut}: Paused,
		{Started, Stop, succeeds}:  Stopped,
		{Started, Stop, throws}:    Stopped,
		{Started, Stop, timesOut}:  Stopped,
		{Paused, Resume, succeeds}: Started,
		{Paused, Resume, throws}:   Paused,
		{Paused, Resume, timesOut}: Paused,
		{Paused, Stop, succeeds}:   Stopped,
		{Paused, Stop, throws}:     Stopped,
		{Paused, Stop, timesOut}:   Stopped,

		{Started, SettingsChanged, succeeds}: Started,
		{Started, SettingsChanged, throws}:   Started,
		{Started, SettingsChanged, timesOut}: Started,
		{Paused, SettingsChanged, succeeds}:  Paused,
		{Paused, SettingsChanged, throws}:    Paused,
		{Paused, SettingsChanged, timesOut}:  Paused,
	}
	for _, state := range []State{Loaded, Started, Paused, Stopped} {
		for _, hook := range []Hook{Start, Pause, Resume, Stop, SettingsChanged} {
			for _, end := range []outcome{succeeds, throws, timesOut} {
				t.Run(fmt.Sprint(state, " ", hook, " ", end), func(t *testing.T) {
					synctest.Test(t, func(t *testing.T) {
						var ran []Hook
						l := newLife(state, &end, &ran)
						changed, err := l.Do(t.Context(), hook)
						next, runs := want[triple{state, hook, end}]
						if !runs {
							next = state
						}
						if l.State() != next || changed != (next != state) || (len(ran) == 1) != runs {
							t.Errorf("%s: the state is %s, changed %v, ran %v", hook, l.State(), changed, ran)
						}
						var refused *StateError
						switch {
						case !runs && !errors.As(err, &refused):
							t.Errorf("the error is %v", err)
						case runs && end == succeeds && err != nil:
							t.Errorf("the error is %v", err)
						case runs && end == throws && !errors.Is(err, errThrown):
							t.Errorf("the error is %v", err)
						case runs && end == timesOut && !errors.Is(err, context.DeadlineExceeded):
							t.Errorf("the error is %v", err)
						}
					})
				})
			}
		}
	}
}

// TestHooksQueue proves that hooks run one after another, in order, and are judged when their turn
// comes.
func TestHooksQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var running, most atomic.Int32
		var ran []Hook
		l := &life{
			run: func(_ context.Context, h Hook) error {
				most.Store(max(most.Load(), running.Add(1)))
				time.Sleep(time.Second)
				ran = append(ran, h)
				running.Add(-1)
				return nil
			},
			timeout: func() time.Duration { return time.Minute }, changed: func(State, State) {}, state: Loaded,
		}
		asked := []Hook{Start, Start, Pause, Resume, Pause, Start, Resume, Stop, Stop, Start}
		changes := make([]bool, len(asked))
		var wg sync.WaitGroup
		for i, h := range asked {
			wg.Go(func() { changes[i], _ = l.Do(t.Context(), h) })
			synctest.Wait()
		}
		wg.Wait()
		if want := []Hook{Start, Pause, Resume, Pause, Resume, Stop}; !slices.Equal(ran, want) || most.Load() != 1 {
			t.Errorf("ran %v, %d at a time, want %v", ran, most.Load(), want)
		}
		if want := []bool{true, false, true, true, true, false, true, true, false, false}; !slices.Equal(changes, want) {
			t.Errorf("the changes are %v", changes)
		}
	})
}

// TestImpatience proves that whoever asks may go away: before its turn that takes the hook back,
// later it does not.
func TestImpatience(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var ran []Hook
		l := &life{
			run: func(ctx context.Context, h Hook) error {
				time.Sleep(time.Second)
				ran = append(ran, h)
				return ctx.Err()
			},
			timeout: func() time.Duration { return time.Minute }, changed: func(State, State) {}, state: Loaded,
		}
		ctx, cancel := context.WithCancel(t.Context())
		var wg sync.WaitGroup
		wg.Go(func() {
			if changed, err := l.Do(ctx, Start); !changed || err != nil {
				t.Error(changed, err)
			}
		})
		synctest.Wait()
		wg.Go(func() {
			if changed, err := l.Do(ctx, Pause); changed || !errors.Is(err, context.Canceled) {
				t.Error(changed, err)
			}
		})
		synctest.Wait()
		cancel()
		wg.Wait()
		if !slices.Equal(ran, []Hook{Start}) {
			t.Errorf("ran %v", ran)
		}
	})
}
