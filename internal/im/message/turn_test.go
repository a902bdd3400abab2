// SPDX-License-Identifier: Apache-2.0

package message

import (
	"context"
	"testing"
	"testing/synctest"
	"time"
)

// TestTurns checks that messages keep their order although a later one is faster and one in the
// middle gives up.
func TestTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var turns Turns
		var entered, left []int
		send := func(n int, turn *Turn, work, patience time.Duration) {
			defer turn.End()
			ctx, cancel := context.WithTimeout(t.Context(), patience)
			defer cancel()
			time.Sleep(work)
			if turn.enter(ctx) != nil {
				return
			}
			entered = append(entered, n)
			turn.pass()
			time.Sleep(work)
			turn.leave()
			left = append(left, n)
		}
		for n, work := range []time.Duration{5 * time.Second, time.Second, 3 * time.Second, 0} {
			patience := time.Minute
			if n == 1 {
				patience = 2 * time.Second
			}
			go send(n, turns.Take(7), work, patience)
		}
		// Another conversation does not wait.
		other := turns.Take(8)
		if err := other.enter(t.Context()); err != nil {
			t.Error(err)
		}
		other.leave()
		other.End()
		time.Sleep(time.Minute)
		synctest.Wait()
		want := []int{0, 2, 3}
		for i, list := range [][]int{entered, left} {
			if len(list) != len(want) || list[0] != want[0] || list[1] != want[1] || list[2] != want[2] {
				t.Errorf("the order of step %d is %v, want %v", i, list, want)
			}
		}
		if len(turns.last) != 0 {
			t.Errorf("%d conversations are remembered", len(turns.last))
		}
	})
}

// TestLaterTurnsWaitForEarlierOnes checks that messages after one that gave up wait for those
// before it, whether they arrived before or after that.
func TestLaterTurnsWaitForEarlierOnes(t *testing.T) {
	waits := func(c chan struct{}) bool {
		select {
		case <-c:
			return false
		default:
			return true
		}
	}
	for name, early := range map[string]bool{"before": true, "after": false} {
		t.Run(name, func(t *testing.T) {
			var turns Turns
			first, second, third := turns.Take(7), turns.Take(7), turns.Take(7)
			var last *Turn
			if early {
				last = turns.Take(7)
			}
			third.End()
			second.End()
			if !early {
				last = turns.Take(7)
			}
			if last.before == nil || !waits(last.before.entered) {
				t.Fatal("a message may be stored before one that arrived earlier")
			}
			first.pass()
			if waits(last.before.entered) || !waits(last.before.left) {
				t.Fatal("a message waits for one that is stored, or does not wait for one that is not delivered")
			}
			first.End()
			if waits(last.before.left) {
				t.Fatal("a message waits for one that is delivered")
			}
			last.End()
			if len(turns.last) != 0 {
				t.Errorf("%d conversations are remembered", len(turns.last))
			}
		})
	}
}
