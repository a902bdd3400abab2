// SPDX-License-Identifier: Apache-2.0

package compat

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Check returns what breaks plugins that were compiled against an old API, or their sources, one
// sentence each. Interfaces and classes that plugins can implement must not require more of them.
// What was deprecated in the old API may be removed in a new major version.
func Check(old, now *API) []string {
	c := &check{old: old, now: now, free: major(old.Version) != major(now.Version)}
	for _, name := range slices.SortedFunc(maps.Keys(old.Classes), compare) {
		before, after := old.Classes[name], now.Classes[name]
		switch {
		case after != nil:
			c.class(before, after)
		case !c.free || !before.is("deprecated"):
			c.report("%s is gone or no longer public", dotted(name))
		}
	}
	return c.found
}

type check struct {
	old, now *API
	// free is true if deprecated declarations may be removed.
	free  bool
	found []string
}

func (c *check) report(format string, args ...any) {
	c.found = append(c.found, fmt.Sprintf(format, args...))
}

func (c *check) class(before, after *Class) {
	name := dotted(before.Name)
	if before.Words[0] != after.Words[0] {
		c.report("%s was of the kind %s and is of the kind %s", name, before.Words[0], after.Words[0])
	}
	for _, word := range []string{"final", "abstract"} {
		if after.is(word) && !before.is(word) {
			c.report("%s is %s now", name, word)
		}
	}
	if before.Signature != after.Signature {
		c.report("%s has other parameters of types: %s instead of %s", name, orNone(after.Signature), orNone(before.Signature))
	}
	supers := c.now.supers(after.Name)
	for _, super := range before.Supers {
		if !supers[super] {
			c.report("%s no longer extends or implements %s", name, dotted(super))
		}
	}
	for _, key := range slices.Sorted(maps.Keys(before.Members)) {
		m := before.Members[key]
		if now := c.now.find(after.Name, key); now != nil {
			c.member(before, m, now)
		} else if !c.free || !m.is("deprecated") && !before.is("deprecated") {
			c.report("%s has no %s any more", name, dotted(key))
		}
	}
	if after.is("final") || strings.HasPrefix(after.Name, protocol) {
		return
	}
	for _, key := range slices.Sorted(maps.Keys(after.Members)) {
		if m := after.Members[key]; m.is("abstract") && c.old.find(before.Name, key) == nil {
			c.report("%s demands %s of those who implement it", name, dotted(key))
		}
	}
}

func (c *check) member(class *Class, before, after *Member) {
	name := dotted(class.Name) + ": " + dotted(before.Key)
	if after.is("protected") && !before.is("protected") {
		c.report("%s is no longer public", name)
	}
	if before.is("static") != after.is("static") {
		c.report("%s is static in one version only", name)
	}
	if after.is("abstract") && !before.is("abstract") {
		c.report("%s is abstract now", name)
	}
	if after.is("final") && !before.is("final") && !class.is("final") {
		c.report("%s is final now", name)
	}
	if before.Signature != after.Signature {
		c.report("%s has other types: %s instead of %s", name, orNone(after.Signature), orNone(before.Signature))
	}
	if before.Constant != after.Constant {
		c.report("%s has the value %s instead of %s, which compiled plugins keep", name, orNone(after.Constant), orNone(before.Constant))
	}
}

func orNone(s string) string {
	if s == "" {
		return "none"
	}
	return s
}

// supers returns all superclasses and interfaces of a class.
func (api *API) supers(name string) map[string]bool {
	all := map[string]bool{}
	var add func(string)
	add = func(name string) {
		class := api.Classes[name]
		if class == nil {
			return
		}
		for _, super := range class.Supers {
			if !all[super] {
				all[super] = true
				add(super)
			}
		}
	}
	add(name)
	return all
}

// find returns a declared or inherited member of a class; constructors are not inherited.
func (api *API) find(name, key string) *Member {
	class := api.Classes[name]
	if class == nil {
		return nil
	}
	if m := class.Members[key]; m != nil {
		return m
	}
	if strings.HasPrefix(key, "<init>") {
		return nil
	}
	for super := range api.supers(name) {
		if c := api.Classes[super]; c != nil && c.Members[key] != nil {
			return c.Members[key]
		}
	}
	return nil
}
