// SPDX-License-Identifier: Apache-2.0

package service

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"example.org/app/internal/link"
	"example.org/app/internal/wire"
)

// TestOutlet fills the outlet of a gateway that does not answer: a lane waits for it once, not for
// every notification.
func TestOutlet(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := &outlet{slots: make(chan struct{}, 2), missed: map[int64]struct{}{}, others: map[link.Session]struct{}{}}
		for range cap(o.slots) {
			if !o.begin() {
				t.Fatal("there is no room at the beginning")
			}
		}
		begin := time.Now()
		for range 100 {
			if o.begin() {
				t.Fatal("there is room for more than there may be")
			}
		}
		if waited := time.Since(begin); waited != outletPatience {
			t.Errorf("100 notifications waited %v, want %v", waited, outletPatience)
		}
		o.end()
		if !o.begin() {
			t.Error("there is no room after a delivery has ended")
		}
	})
}

func TestOutletMissed(t *testing.T) {
	o := &outlet{missed: map[int64]struct{}{}, others: map[link.Session]struct{}{}}
	if !o.miss([]int64{1, 2}, nil) || o.miss([]int64{2, 3}, &link.Session{UserID: 3, Device: wire.DeviceType_DESKTOP}) {
		t.Error("not exactly one begins to tell")
	}
	all := o.take()
	if len(all) != 2 {
		t.Fatalf("the sessions to close are %v", all)
	}
	slices.Sort(all[0].UserIDs)
	if !slices.Equal(all[0].UserIDs, []int64{1, 2}) || len(all[0].Devices) > 0 {
		t.Errorf("the users are %v on %v", all[0].UserIDs, all[0].Devices)
	}
	if !slices.Equal(all[1].UserIDs, []int64{3}) || slices.Contains(all[1].Devices, wire.DeviceType_DESKTOP) || !slices.Contains(all[1].Devices, wire.DeviceType_BROWSER) {
		t.Errorf("the user who sent it is %v on %v", all[1].UserIDs, all[1].Devices)
	}
	if len(o.take()) > 0 || o.healing {
		t.Error("somebody is told twice")
	}
	for id := int64(0); id <= maxMissed; id++ {
		o.miss([]int64{id}, nil)
	}
	if all := o.take(); len(all) != 1 || !all[0].All {
		t.Errorf("%d requests close the sessions of everybody", len(all))
	}
}
