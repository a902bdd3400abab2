// SPDX-License-Identifier: Apache-2.0

// Package property reflects a tree of properties from a struct with tags: defaults, the
// spellings in files, environment and flags, conversion, validation, redaction,
// documentation and the metadata of the settings interface. Nothing else in the
// product parses configuration.
//
// # Adding a property
//
// A property is one exported field with tags; a group is a struct field. The
// name is the kebab-case form of the field's name. The tags are:
//
//	name      the kebab-case name, where the derived one is wrong
//	default   the default; lists of values separate them by commas, lists of
//	          structs are written as a YAML flow sequence
//	doc       one sentence for the reader of the documentation
//	min, max  the bounds of a number, or of each number of a list
//	enum      the allowed values, separated by commas; a type with a method
//	          Options() []string supplies them itself
//	required  "true": the value must not be empty
//	minlen    the least number of characters, or of elements of a list
//	maxlen    the greatest number of characters, or of elements of a list
//	path      "true": @HOME and relative paths are resolved by [Tree.Load]
//	mutable   "true": may be changed while the server runs
//	global    "true": part of the settings that all nodes share
//	hidden    "true": never shown by the settings interface
//	sensitive "true": implied by, and only allowed for, the type [Secret]
//	defaults  on a struct field: "http.port=8510;log.enabled=false" replaces
//	          defaults below it, so that groups can share one struct type
//
// The tags mutable, global and hidden of a group hold for everything in it that
// does not say otherwise. A struct, or a named scalar type, with a method
// Validate() error is asked whenever values change; the function Violation makes
// the error that names the property and the rule.
package property

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
)

// A Tree is the reflected form of a struct with tags. It is immutable and works for every such
// struct, independent of the server's properties.
type Tree struct {
	root *node
}

// kind is the kind of a node's value.
type kind int

const (
	kindGroup  kind = iota // a struct
	kindScalar             // one value
	kindList               // a slice
	kindMap                // a map[string]string with free keys
)

// node is a node of the tree: a group, a leaf, or the element of a list.
type node struct {
	kind kind
	typ  reflect.Type
	// name is the full kebab-case name, with [?] for positions in lists.
	name string
	// segment and camel are the last part of the name in its two spellings.
	segment, camel string
	// jsonPath is the full camelCase name without the root.
	jsonPath string
	// index is the index path from the struct of the parent group to this field.
	index []int
	// prop describes a leaf.
	prop  Property
	rules rules

	// children and byKey are those of a group; byKey has canonical names.
	children []*node
	byKey    map[string]*node
	// embedded are the index paths of embedded structs. They are no groups but may have rules.
	embedded [][]int

	// elem is the element of a list or the value of a map.
	elem *node
	// secret is true if a sensitive value is at or below this node.
	secret bool
	// url is true if the value is a URL, whose credentials must not be shown.
	url bool
	// fallback is the default: a valid value, or invalid for the zero value.
	fallback reflect.Value
}

// rules are the restrictions of a value by tags.
type rules struct {
	min, max       *int64
	minLen, maxLen *int64
	enum           []string
	required       bool
	path           bool
}

// child returns the group's member with that name in any spelling.
func (n *node) child(name string) (*node, bool) {
	c, ok := n.byKey[canonical(name)]
	return c, ok
}

// walk visits the nodes below n in the order of declaration, including those of list elements. A
// scalar element is part of its list and not visited.
func (n *node) walk(visit func(*node)) {
	for _, c := range n.children {
		visit(c)
		c.walk(visit)
	}
	if n.kind == kindList && n.elem.kind == kindGroup {
		n.elem.walk(visit)
	}
}

// SetDefaults sets every property of the struct that target points to.
func (t *Tree) SetDefaults(target any) { t.root.setDefaults(valueOf(target)) }

// valueOf returns the addressable value that target points to.
func valueOf(target any) reflect.Value { return reflect.ValueOf(target).Elem() }

// setDefaults sets the struct, list or scalar v to the defaults of node n.
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

// Unshare replaces the slices and maps of the struct that target points to by copies.
func Unshare(target any) { deepCopy(valueOf(target)) }

// deepCopy replaces the slices and maps at and below v by copies. All other types in a tree are
// copied by assignment.
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

// Select returns the properties of the struct that target points to for which keep returns true, as
// nested maps with camelCase names, without the root's name. Sensitive values are masked. It calls
// keep once for each property, with a list of structs as one; groups without kept properties are
// empty maps. The caller owns the result. It contains bool, int64, float64, string, []any and
// map[string]any.
func (t *Tree) Select(target any, keep func(Property) bool) map[string]any {
	return t.root.exportGroup(valueOf(target), keep)
}

// Value returns the value of one property in the same form, or nil if the property is not in the
// tree.
func (t *Tree) Value(target any, p Property) any {
	n, v, ok := t.root.lookup(valueOf(target), strings.TrimPrefix(p.Name, t.root.name+"."))
	if !ok {
		return nil
	}
	return n.exportLeaf(v)
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
