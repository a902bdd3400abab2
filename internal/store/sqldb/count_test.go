// SPDX-License-Identifier: Apache-2.0

package sqldb

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
)

// TestCountsAreShared checks that callers during a count share the next one, which begins after
// they arrived, that a cancelled caller does not affect others, and that nothing is kept.
func TestCountsAreShared(t *testing.T) { synctest.Test(t, testCountsAreShared) }

func testCountsAreShared(t *testing.T) {
	c := &counts{
		read:    func(ctx context.Context, fn func(context.Context, Reader) error) error { return fn(ctx, nil) },
		running: map[string]*counting{},
	}
	type result struct {
		n   int64
		err error
	}
	failure := errors.New("the database is gone")
	proceed, runs := make(chan result), 0 // one runs at a time
	ask := func(ctx context.Context, results chan result) {
		go func() {
			n, err := c.get(ctx, nil, "key", func(context.Context, Reader) (int64, error) {
				runs++
				r := <-proceed
				return r.n, r.err
			})
			results <- result{n, err}
		}()
		synctest.Wait()
	}
	expect := func(results chan result, n int, want result) {
		t.Helper()
		for range n {
			if got := <-results; got.n != want.n || !errors.Is(got.err, want.err) {
				t.Errorf("got %+v, want %+v", got, want)
			}
		}
	}
	first, second, third, left := make(chan result, 1), make(chan result, 5), make(chan result, 2), make(chan result, 1)
	ask(t.Context(), first)
	leaving, leave := context.WithCancel(t.Context())
	ask(leaving, left) // It would have started the next one.
	for range 5 {
		ask(t.Context(), second)
	}
	leave()
	expect(left, 1, result{0, context.Canceled})
	if runs != 1 {
		t.Errorf("%d counts run while the first has not ended", runs)
	}
	proceed <- result{1, nil}
	expect(first, 1, result{1, nil})
	synctest.Wait()
	if runs != 2 || len(second) != 0 {
		t.Fatalf("after the first, %d counts have begun, and %d got a result", runs, len(second))
	}
	ask(t.Context(), third)
	ask(t.Context(), third)
	proceed <- result{2, nil}
	expect(second, 5, result{2, nil})
	proceed <- result{0, failure}
	expect(third, 2, result{0, failure})
	synctest.Wait()
	if runs != 3 || len(c.running) != 0 {
		t.Errorf("%d counts have run, and %d are kept", runs, len(c.running))
	}
	ask(t.Context(), first)
	proceed <- result{3, nil}
	expect(first, 1, result{3, nil})
}
