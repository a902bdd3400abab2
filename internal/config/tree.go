// SPDX-License-Identifier: Apache-2.0

package config

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
)

// tree is the reflected form of a struct with tags. It is immutable once built
// and works for every such struct, so that its machinery does not depend on
// which properties the server happens to have.
type tree struct {
	root *node
}

// kind tells how a node takes values.
type kind int

const (
	kindGroup  kind = iota // a struct
	kindScalar             // one value
	kindList               // a slice
	kindMap                // a map[string]string with free keys
)

// node is one place of the tree: a group, a leaf, or the element of a list.
type node struct {
	kind kind
	typ  reflect.Type
	// name is the full kebab-case name, with [?] for positions in lists.
	name string
	// segment and camel are the last part of the name in its two spellings.
	segment, camel string
	// index leads from the struct of the parent group to this field.
	index []int
	// prop describes a leaf.
	prop  Property
	rules rules

	// children and byKey are those of a group; byKey has canonical names.
	children []*node
	byKey    map[string]*node
	// embedded leads to the structs that the struct of a group embeds. They are
	// no groups of their own but may have rules of their own.
	embedded [][]int

	// elem is the element of a list or the value of a map.
	elem *node
	// secret says that a sensitive value is at or below this node.
	secret bool
	// url says that the value is a URL, of which credentials are not shown.
	url bool
	// fallback is the default: a valid value, or invalid for the zero value.
	fallback reflect.Value
}

// rules are what the tags demand of a value.
type rules struct {
	min, max       *int64
	minLen, maxLen *int64
	enum           []string
	required       bool
	path           bool
}

// child returns the group's member of that name in any spelling.
func (n *node) child(name string) (*node, bool) {
	c, ok := n.byKey[canonical(name)]
	return c, ok
}

// walk visits the nodes below n in the order of declaration, those of list
// elements included. A scalar element is a part of its list and not visited.
func (n *node) walk(visit func(*node)) {
	for _, c := range n.children {
		visit(c)
		c.walk(visit)
	}
	if n.kind == kindList && n.elem.kind == kindGroup {
		n.elem.walk(visit)
	}
}

// setDefaults gives the struct, list or scalar v the defaults of node n.
func (t *tree) setDefaults(v reflect.Value) { t.root.setDefaults(v) }

func (n *node) setDefaults(v reflect.Value) {
	if n.kind == kindGroup {
		for _, c := range n.children {
			c.setDefaults(v.FieldByIndex(c.index))
		}
		return
	}
	v.SetZero()
	if n.fallback.IsValid() {
		v.Set(n.fallback)
		deepCopy(v)
	}
}

// deepCopy replaces the slices and maps at and below v by copies. Everything
// else that a tree may hold is copied by assignment.
func deepCopy(v reflect.Value) {
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			if f := v.Field(i); f.CanSet() {
				deepCopy(f)
			}
		}
	case reflect.Slice:
		if v.IsNil() {
			return
		}
		fresh := reflect.MakeSlice(v.Type(), v.Len(), v.Len())
		reflect.Copy(fresh, v)
		for i := range fresh.Len() {
			deepCopy(fresh.Index(i))
		}
		v.Set(fresh)
	case reflect.Map:
		if v.IsNil() {
			return
		}
		fresh := reflect.MakeMapWithSize(v.Type(), v.Len())
		for it := v.MapRange(); it.Next(); {
			fresh.SetMapIndex(it.Key(), it.Value())
		}
		v.Set(fresh)
	}
}

// export renders a struct as nested maps; see Config.Select.
func (t *tree) export(v reflect.Value, keep func(Property) bool) map[string]any {
	return t.root.exportGroup(v, keep)
}

func (n *node) exportGroup(v reflect.Value, keep func(Property) bool) map[string]any {
	m := make(map[string]any, len(n.children))
	for _, c := range n.children {
		f := v.FieldByIndex(c.index)
		switch {
		case c.kind == kindGroup:
			m[c.camel] = c.exportGroup(f, keep)
		case keep(c.property()):
			m[c.camel] = c.exportLeaf(f)
		}
	}
	return m
}

// exportLeaf renders a leaf, or the element of a list as a whole.
func (n *node) exportLeaf(v reflect.Value) any {
	switch n.kind {
	case kindGroup:
		return n.exportGroup(v, func(Property) bool { return true })
	case kindList:
		list := make([]any, 0, v.Len())
		for i := range v.Len() {
			list = append(list, n.elem.exportLeaf(v.Index(i)))
		}
		return list
	case kindMap:
		m := make(map[string]any, v.Len())
		for it := v.MapRange(); it.Next(); {
			m[it.Key().String()] = n.elem.exportLeaf(it.Value())
		}
		return m
	}
	switch {
	case n.secret:
		return mask
	case n.url:
		return RedactURL(v.String())
	case v.CanInt():
		return v.Int()
	case v.CanFloat():
		return v.Float()
	case v.Kind() == reflect.Bool:
		return v.Bool()
	}
	return v.String()
}

// printDefault renders a default for the documentation.
func (n *node) printDefault(v reflect.Value) string {
	switch n.kind {
	case kindList:
		parts := make([]string, v.Len())
		for i := range parts {
			parts[i] = n.elem.printDefault(v.Index(i))
		}
		if n.elem.kind == kindGroup || len(parts) == 0 {
			return "[" + strings.Join(parts, ", ") + "]"
		}
		return strings.Join(parts, ", ")
	case kindMap:
		var parts []string
		for it := v.MapRange(); it.Next(); {
			parts = append(parts, it.Key().String()+": "+n.elem.printDefault(it.Value()))
		}
		slices.Sort(parts)
		return "{" + strings.Join(parts, ", ") + "}"
	case kindGroup:
		parts := make([]string, len(n.children))
		for i, c := range n.children {
			parts[i] = c.segment + ": " + c.printDefault(v.FieldByIndex(c.index))
		}
		return "{" + strings.Join(parts, ", ") + "}"
	}
	return fmt.Sprint(v.Interface())
}
