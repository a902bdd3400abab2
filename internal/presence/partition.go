// SPDX-License-Identifier: Apache-2.0

package presence

import (
	"cmp"
	"hash/fnv"
	"math/bits"
	"slices"
)

const (
	// Partitions is the number of partitions of the users if they are partitioned. It is a power of
	// two, at most shardCount, so that a partition consists of whole shards of the table.
	Partitions = 128
	// copies is how many services follow a partition: its owner and a second, which can stand in
	// for it.
	copies = 2
)

// partitionOf returns the partition of a user, from 0. The number of partitions is a power of two.
// Nodes of all versions must agree on it.
func partitionOf(userID int64, partitions int) int {
	return int(spread(userID) >> (64 - (bits.Len(uint(partitions)) - 1)))
}

// spread hashes the ids of users. They are often consecutive or multiples of something; the golden
// ratio spreads both.
func spread(userID int64) uint64 { return uint64(userID) * 0x9E3779B97F4A7C15 }

// owners say which services follow which partitions, by rendezvous hashing: a change of the
// services moves only the partitions of the service that came or left. The same services give the
// same result everywhere. It is immutable.
type owners struct {
	services []string
	// ranks has the indices of the services by partition, the owner first.
	ranks [][]int
}

func newOwners(services []string, partitions int) *owners {
	o := &owners{services: services, ranks: make([][]int, partitions)}
	hashes := make([]uint64, len(services))
	for i, id := range services {
		h := fnv.New64a()
		_, _ = h.Write([]byte(id))
		hashes[i] = h.Sum64()
	}
	for p := range o.ranks {
		key := mix(uint64(p) + 1)
		rank := make([]int, len(services))
		for i := range rank {
			rank[i] = i
		}
		slices.SortFunc(rank, func(a, b int) int {
			return cmp.Or(cmp.Compare(mix(hashes[b]^key), mix(hashes[a]^key)), cmp.Compare(services[a], services[b]))
		})
		o.ranks[p] = rank
	}
	return o
}

// of returns the partitions that a service follows.
func (o *owners) of(service string) (partitions []int) {
	for p, rank := range o.ranks {
		for _, i := range rank[:min(copies, len(rank))] {
			if o.services[i] == service {
				partitions = append(partitions, p)
			}
		}
	}
	return partitions
}

// owner returns the service that owns a partition, or "" if there is none.
func (o *owners) owner(partition int) string {
	if rank := o.ranks[partition]; len(rank) > 0 {
		return o.services[rank[0]]
	}
	return ""
}

// mix spreads the bits of a number (the finalizer of SplitMix64).
func mix(x uint64) uint64 {
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}
