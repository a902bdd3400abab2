// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"hash/fnv"
	"slices"
)

// A Split defines for which users a candidate, another version of a plugin that is loaded beside
// it, is called instead of the plugin.
type Split struct {
	// Percentage is the percentage of users. Those of a smaller percentage are included in a larger
	// one, in every process.
	Percentage int
	// UserIDs are additional users.
	UserIDs []int64
	// Shadow is true if the candidate is called in addition to the plugin, with copies of the
	// calls, and its results are dropped. With a Percentage of 100 it gets all calls, including
	// those that concern no user.
	Shadow bool
}

// Equal reports whether another split is the same.
func (s Split) Equal(other Split) bool {
	return s.Percentage == other.Percentage && s.Shadow == other.Shadow && slices.Equal(s.UserIDs, other.UserIDs)
}

// split is a Split in the table. It is immutable: a call uses the same split until its end.
type split struct {
	Split
	candidate *Plugin
	users     map[int64]bool
	// salt varies the first users between plugins.
	salt uint64
	// shadow runs copies of calls; nil if the candidate is called instead of the plugin.
	shadow *shadow
}

func newSplit(candidate *Plugin, s Split) *split {
	h := fnv.New64a()
	_, _ = h.Write([]byte(candidate.ID))
	d := &split{Split: s, candidate: candidate, users: make(map[int64]bool, len(s.UserIDs)), salt: h.Sum64()}
	for _, id := range s.UserIDs {
		d.users[id] = true
	}
	return d
}

// takes reports whether the candidate is called for a user.
func (s *split) takes(userID int64) bool {
	return share(s.salt, userID) < uint64(s.Percentage) || len(s.users) > 0 && s.users[userID]
}

// share maps a user to a percentile, from 0.
func share(salt uint64, userID int64) uint64 {
	// The finaliser of SplitMix64 spreads consecutive ids evenly.
	z := salt ^ uint64(userID)*0x9e3779b97f4a7c15
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return (z ^ z>>31) % 100
}

// seat is an extension's entry in the table of a point.
type seat struct {
	*member
	// split divides the calls between the plugin and its candidate; nil if there is none.
	split *split
	// candidate is true for an extension of the candidate.
	candidate bool
}

// isShadow reports whether the extension only gets copies of calls.
func (s seat) isShadow() bool { return s.candidate && s.split.shadow != nil }

// A subject returns the user whom a call concerns; ok is false if it concerns no user, or several.
type subject func() (userID int64, ok bool)

// routing decides for one call which version of a plugin it goes to.
type routing struct {
	subject subject
	// last is the last decided split, and candidate the decision.
	last      *split
	candidate bool
	// avoided is a candidate that was removed or cannot run; nil if there is none.
	avoided *Plugin
}

// leadsTo reports whether the call goes to this extension rather than to the other version's.
func (r *routing) leadsTo(s seat) bool {
	if s.split == nil {
		return true
	}
	if s.split.shadow != nil {
		return !s.candidate
	}
	if r.last != s.split {
		userID, ok := r.subject()
		r.last, r.candidate = s.split, ok && s.split.takes(userID)
	}
	return (r.candidate && s.split.candidate != r.avoided) == s.candidate
}
