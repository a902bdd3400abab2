// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"testing"
	"testing/synctest"
	"time"
)

func TestClock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &clock{wall: func() time.Time { return time.Now().Add(-time.Hour) }}
		server := func(context.Context) (time.Time, error) {
			time.Sleep(10 * time.Millisecond)
			at := time.Now()
			time.Sleep(10 * time.Millisecond)
			return at, nil
		}
		if err := c.measure(t.Context(), server); err != nil || !c.now().Equal(time.Now()) {
			t.Errorf("the clock says %v, it is %v: %v", c.now(), time.Now(), err)
		}
		// A later time from another node is accepted unless it is far off.
		told := time.Now().Add(3 * time.Second)
		c.hear(told.UnixMicro())
		c.hear(time.Now().Add(time.Hour).UnixMicro())
		c.hear(time.Now().UnixMicro())
		if !c.now().Equal(told.Truncate(time.Microsecond)) {
			t.Errorf("the clock says %v after it was told %v", c.now(), told)
		}
		if !c.estimate().Equal(time.Now()) {
			t.Error("deadlines follow what other nodes tell")
		}
		time.Sleep(4 * time.Second)
		if !c.now().Equal(time.Now()) {
			t.Errorf("the clock says %v, it is %v", c.now(), time.Now())
		}
		// A measurement with a longer round trip is ignored until the last one is old.
		worse := func(context.Context) (time.Time, error) {
			time.Sleep(100 * time.Millisecond)
			return time.Now().Add(10 * time.Second), nil
		}
		if err := c.measure(t.Context(), worse); err != nil || !c.now().Equal(time.Now()) {
			t.Errorf("the clock says %v, it is %v: %v", c.now(), time.Now(), err)
		}
		time.Sleep(maxClockAge)
		if err := c.measure(t.Context(), worse); err != nil || c.now().Before(time.Now().Add(9*time.Second)) {
			t.Errorf("the clock says %v, it is %v: %v", c.now(), time.Now(), err)
		}
		time.Sleep(maxClockAge)
		if err := c.measure(t.Context(), server); err != nil || !c.now().Equal(time.Now()) {
			t.Errorf("the clock says %v, it is %v: %v", c.now(), time.Now(), err)
		}
		// A measurement that took too long is ignored.
		slow := func(context.Context) (time.Time, error) {
			time.Sleep(2 * time.Second)
			return time.Now().Add(time.Hour), nil
		}
		if err := c.measure(t.Context(), slow); err != nil || !c.now().Equal(time.Now()) {
			t.Errorf("the clock says %v, it is %v: %v", c.now(), time.Now(), err)
		}
	})
}
