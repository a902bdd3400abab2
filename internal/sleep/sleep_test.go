// SPDX-License-Identifier: Apache-2.0

package sleep_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"example.org/app/internal/sleep"
)

func TestFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		if err := sleep.For(t.Context(), time.Hour); err != nil || time.Since(start) != time.Hour {
			t.Errorf("waited %v, %v", time.Since(start), err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		start = time.Now()
		if err := sleep.For(ctx, time.Hour); !errors.Is(err, context.DeadlineExceeded) || time.Since(start) != time.Minute {
			t.Errorf("waited %v, %v", time.Since(start), err)
		}
		for _, d := range []time.Duration{0, -1} {
			if err := sleep.For(t.Context(), d); err != nil {
				t.Errorf("nothing to wait for: %v", err)
			}
			if err := sleep.For(ctx, d); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("the context has ended: %v", err)
			}
		}
	})
}
