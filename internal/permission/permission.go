// SPDX-License-Identifier: Apache-2.0

// Package permission defines the permissions of administrators. Each operation of the admin
// interface requires exactly one; roles are sets of them. The package does not know which
// administrator has which role.
package permission

import (
	"slices"
	"strings"
)

// Permission is the upper-case name of a permission.
type Permission string

// Group is a group of permissions with a heading.
type Group struct {
	Name        string
	Permissions []Permission
}

var (
	all   []Permission
	index = map[Permission]int{}
)

func init() {
	for _, g := range Groups {
		for _, p := range g.Permissions {
			index[p] = len(all)
			all = append(all, p)
		}
	}
}

// All returns every permission in the order of Groups.
func All() []Permission { return slices.Clone(all) }

// Known reports whether p is in the table.
func Known(p Permission) bool {
	_, ok := index[p]
	return ok
}

// Names returns every permission as plain strings in the order of Groups.
func Names() []string {
	names := make([]string, len(all))
	for i, p := range all {
		names[i] = string(p)
	}
	return names
}

// Expand returns the permissions that match the patterns, in the order of Groups. In a pattern '*'
// matches any run of characters and '?' exactly one; everything else matches itself. A pattern
// without matches adds nothing.
func Expand(patterns []string) []Permission {
	var found []Permission
	for _, p := range all {
		if slices.ContainsFunc(patterns, func(pattern string) bool { return match(pattern, string(p)) }) {
			found = append(found, p)
		}
	}
	return found
}

// match runs in time proportional to len(pattern)*len(s): on a mismatch it backtracks to the last
// star only.
func match(pattern, s string) bool {
	p, i, star, mark := 0, 0, -1, 0
	for i < len(s) {
		switch {
		case p < len(pattern) && pattern[p] == '*':
			star, mark = p, i
			p++
		case p < len(pattern) && (pattern[p] == '?' || pattern[p] == s[i]):
			p++
			i++
		case star >= 0:
			mark++
			p, i = star+1, mark
		default:
			return false
		}
	}
	return strings.Trim(pattern[p:], "*") == ""
}

// Set is a set of permissions with constant-time look-up. The zero value is empty.
type Set struct {
	bits [2]uint64
}

// NewSet returns the set of the given permissions. Unknown names are ignored: a newer server may
// have stored the role.
func NewSet(permissions ...Permission) Set {
	var s Set
	for _, p := range permissions {
		if i, ok := index[p]; ok {
			s.bits[i/64] |= 1 << (i % 64)
		}
	}
	return s
}

// Has reports whether p is in the set.
func (s Set) Has(p Permission) bool {
	i, ok := index[p]
	return ok && s.bits[i/64]&(1<<(i%64)) != 0
}

// Union returns the permissions that are in s or in o.
func (s Set) Union(o Set) Set {
	return Set{[2]uint64{s.bits[0] | o.bits[0], s.bits[1] | o.bits[1]}}
}

// Intersect returns the permissions that are in s and in o.
func (s Set) Intersect(o Set) Set {
	return Set{[2]uint64{s.bits[0] & o.bits[0], s.bits[1] & o.bits[1]}}
}

// Names returns the permissions of the set in the order of Groups.
func (s Set) Names() []string {
	names := []string{}
	for _, p := range all {
		if s.Has(p) {
			names = append(names, string(p))
		}
	}
	return names
}

// Missing returns the permissions in want that s lacks, in the order of want.
func (s Set) Missing(want []Permission) []Permission {
	var missing []Permission
	for _, p := range want {
		if !s.Has(p) {
			missing = append(missing, p)
		}
	}
	return missing
}
