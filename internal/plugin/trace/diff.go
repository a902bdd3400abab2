// SPDX-License-Identifier: Apache-2.0

package trace

import (
	"reflect"
	"slices"
	"strconv"
)

// compare returns the fields in which two values differ, and the number of omitted ones.
func (r rules) compare(before, after any) (changes []Change, more int) {
	d := &diff{}
	d.nodes("", r.tree(reflect.ValueOf(before), 0), r.tree(reflect.ValueOf(after), 0))
	return d.changes, d.more
}

// diff collects differences.
type diff struct {
	changes []Change
	more    int
}

// add adds a difference of two values as a whole.
func (d *diff) add(path string, before, after node) {
	if len(d.changes) == maxChanges {
		d.more++
		return
	}
	c := Change{Path: clip(path, maxShown)}
	if before.kind != absent {
		text := before.String()
		c.Before = &text
	}
	if after.kind != absent {
		text := after.String()
		c.After = &text
	}
	d.changes = append(d.changes, c)
}

func (d *diff) nodes(path string, before, after node) {
	switch {
	case before.equal(after):
	case before.kind == object && after.kind != leaf && after.kind != list || after.kind == object && before.kind == absent:
		d.objects(path, before, after)
	case before.kind == list && after.kind != leaf && after.kind != object || after.kind == list && before.kind == absent:
		d.lists(path, before.items, after.items)
	default:
		d.add(path, before, after)
	}
}

// objects compares objects by field. One of them may be absent.
func (d *diff) objects(path string, before, after node) {
	if path != "" {
		path += "."
	}
	for _, f := range before.fields {
		d.nodes(path+f.name, f.node, after.get(f.name))
	}
	for _, f := range after.fields {
		if before.get(f.name).kind == absent {
			d.nodes(path+f.name, node{}, f.node)
		}
	}
}

// lists compares lists: of leaves as sets, of objects with ids by id, of others by position.
func (d *diff) lists(path string, before, after []node) {
	isLeaf := func(n node) bool { return n.kind == leaf }
	hasID := func(n node) bool { return n.get("id").kind == leaf }
	switch {
	case all(before, isLeaf) && all(after, isLeaf):
		d.sets(path, before, after)
	case all(before, hasID) && all(after, hasID):
		d.keyed(path, before, after)
	default:
		d.positions(path, before, after)
	}
}

func all(list []node, is func(node) bool) bool {
	return !slices.ContainsFunc(list, func(n node) bool { return !is(n) })
}

// sets reports which leaves were removed and added.
func (d *diff) sets(path string, before, after []node) {
	counts := map[string]int{}
	for _, n := range after {
		counts[n.value]++
	}
	same := true
	for _, n := range before {
		if counts[n.value]--; counts[n.value] < 0 {
			d.add(path+"[]", n, node{})
			same = false
		}
	}
	for _, n := range after {
		if counts[n.value] > 0 {
			counts[n.value]--
			d.add(path+"[]", node{}, n)
			same = false
		}
	}
	if same { // The order differs.
		d.add(path, node{kind: list, items: before}, node{kind: list, items: after})
	}
}

// keyed compares objects with the same id.
func (d *diff) keyed(path string, before, after []node) {
	next := make(map[string]node, len(after))
	for _, n := range after {
		next[n.get("id").value] = n
	}
	for _, n := range before {
		id := n.get("id")
		place := path + "[id=" + id.shown() + "]"
		if other, ok := next[id.value]; ok {
			delete(next, id.value)
			d.nodes(place, n, other)
		} else {
			d.add(place, n, node{})
		}
	}
	for _, n := range after {
		id := n.get("id")
		if _, ok := next[id.value]; ok {
			delete(next, id.value)
			d.add(path+"[id="+id.shown()+"]", node{}, n)
		}
	}
}

// positions compares objects by position, ignoring equal ones at the beginning and the end.
func (d *diff) positions(path string, before, after []node) {
	first := 0
	for first < min(len(before), len(after)) && before[first].equal(after[first]) {
		first++
	}
	before, after = before[first:], after[first:]
	for len(before) > 0 && len(after) > 0 && before[len(before)-1].equal(after[len(after)-1]) {
		before, after = before[:len(before)-1], after[:len(after)-1]
	}
	for i := range max(len(before), len(after)) {
		place := path + "[" + strconv.Itoa(first+i) + "]"
		switch {
		case i >= len(after):
			d.add(place, before[i], node{})
		case i >= len(before):
			d.add(place, node{}, after[i])
		default:
			d.nodes(place, before[i], after[i])
		}
	}
}
