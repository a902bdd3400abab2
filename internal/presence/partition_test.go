// SPDX-License-Identifier: Apache-2.0

package presence

import (
	"fmt"
	"slices"
	"testing"
)

func TestPartitionOf(t *testing.T) {
	for _, step := range []int64{1, 2, 1000, 1 << 22} {
		counts := make([]int, Partitions)
		const users = 128_000
		for i := range int64(users) {
			counts[partitionOf(i*step, Partitions)]++
		}
		if least, most := slices.Min(counts), slices.Max(counts); least < users/Partitions*8/10 || most > users/Partitions*12/10 {
			t.Errorf("ids in steps of %d: the partitions have %d to %d users", step, least, most)
		}
	}
	for userID, want := range map[int64]int{0: 0, 1: 79, -1: 48, 1234567890123456789: 19} {
		if got := partitionOf(userID, Partitions); got != want {
			t.Errorf("the partition of user %d is %d, want %d: nodes of other versions would not agree", userID, got, want)
		}
		if got := partitionOf(userID, 1); got != 0 {
			t.Errorf("the only partition is %d", got)
		}
	}
}

func TestOwners(t *testing.T) {
	services := func(n int) (ids []string) {
		for i := range n {
			ids = append(ids, fmt.Sprint("service-", i))
		}
		return ids
	}
	for n := 1; n <= 20; n++ {
		o := newOwners(services(n), Partitions)
		total, most := 0, 0
		for _, id := range o.services {
			followed := len(o.of(id))
			total, most = total+followed, max(most, followed)
		}
		if want := min(n, copies) * Partitions; total != want {
			t.Errorf("%d services follow %d partitions, want %d", n, total, want)
		}
		if fair := copies * Partitions / n; n >= copies && n <= 8 && most > fair*13/10 {
			t.Errorf("one of %d services follows %d partitions, much more than %d", n, most, fair)
		}
		// Without one service only its partitions move; the other services keep theirs.
		less := newOwners(services(n)[1:], Partitions)
		for _, id := range less.services {
			for _, p := range o.of(id) {
				if !slices.Contains(less.of(id), p) {
					t.Errorf("%s lost partition %d because another of %d services left", id, p, n)
				}
			}
		}
		for p := range Partitions {
			if first := o.owner(p); n > 1 && first != "service-0" && less.owner(p) != first {
				t.Errorf("partition %d moved from %s to %s because another of %d services left", p, first, less.owner(p), n)
			}
		}
	}
	if got := newOwners(nil, Partitions).owner(3); got != "" {
		t.Errorf("%q owns a partition without being there", got)
	}
}
