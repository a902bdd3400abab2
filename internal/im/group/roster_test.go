// SPDX-License-Identifier: Apache-2.0

package group

import (
	"context"
	"slices"
	"testing"
	"time"

	"example.org/app/internal/store"
)

// TestRoster changes the members of a group on two nodes: both see every change.
func TestRoster(t *testing.T) {
	onBothEngines(t, func(w *world) {
		ctx := w.Context()
		id := w.group(1, 2)
		other, err := New(ctx, w.Directory.opts)
		if err != nil {
			w.Fatal(err)
		}
		want := func(want ...int64) {
			w.Helper()
			for i, d := range []*Directory{w.Directory, other, w.Directory, other} {
				w.read(func(ctx context.Context, r store.Reader) error {
					got, ok, err := d.Members.Roster(ctx, r, id)
					if err == nil && (!ok || !slices.Equal(got, want)) {
						w.Errorf("reading %d: members are %v (%v), want %v", i, got, ok, want)
					}
					return err
				})
			}
		}
		want(1, 2)
		must(other.Members.Add(ctx, member(id, 5, store.GroupRegularMember), nil))(w)
		want(1, 2, 5)
		must(w.Members.Add(ctx, member(id, 4, store.GroupRegularMember), nil))(w)
		must(other.Members.Delete(ctx, []store.GroupUserKey{key(id, 2)}))(w)
		want(1, 4, 5)
		must(other.Delete(ctx, []int64{id}, nil))(w)
		want()
	})
}

func TestRostersAreBounded(t *testing.T) {
	c := newRosters()
	now := time.Now()
	members := make([]int64, maxRoster)
	for id := range int64(100) {
		c.put(roster{id, now, members})
		if _, ok := c.get(0, now); !ok {
			t.Fatalf("the roster that is used was forgotten for number %d", id)
		}
	}
	if c.size > maxRosters || c.size < maxRosters-2*maxRoster || len(c.byID) != c.recent.Len() {
		t.Errorf("%d members are kept in %d rosters, %d in order", c.size, len(c.byID), c.recent.Len())
	}
	if _, ok := c.get(1, now); ok {
		t.Error("an old roster is still there")
	}
	c.put(roster{0, now.Add(-time.Second), nil})
	if _, ok := c.get(0, now); !ok {
		t.Error("an older version replaced a newer one")
	}
	if _, ok := c.get(0, now.Add(time.Second)); ok {
		t.Error("an older version is taken for a newer one")
	}
}
