// SPDX-License-Identifier: Apache-2.0

package property

import (
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
)

// Validate checks every rule of every property of the struct that target points to, in the order of
// declaration, but does not call the Validate method of that struct, which may be the caller. The
// error is an *Error without a source.
func (t *Tree) Validate(target any) error {
	if err := t.validate(valueOf(target)); err != nil {
		return err
	}
	return nil
}

func (t *Tree) validate(v reflect.Value) *Error {
	return t.root.validateParts(v, t.root.name)
}

// validateGroup checks the parts of a group, then the struct itself.
func (n *node) validateGroup(v reflect.Value, name string) *Error {
	if err := n.validateParts(v, name); err != nil {
		return err
	}
	if err := callValidate(v); err != nil {
		return n.located(v, name, err)
	}
	return nil
}

// validateParts checks the members of a group, then the structs that its struct embeds.
func (n *node) validateParts(v reflect.Value, name string) *Error {
	for _, c := range n.children {
		if err := c.validateNode(v.FieldByIndex(c.index), joinName(name, c.segment)); err != nil {
			return err
		}
	}
	for _, index := range n.embedded {
		if err := callValidate(v.FieldByIndex(index)); err != nil {
			return n.located(v, name, err)
		}
	}
	return nil
}

func (n *node) validateNode(v reflect.Value, name string) *Error {
	if n.kind == kindGroup {
		return n.validateGroup(v, name)
	}
	if rule := n.check(v); rule != "" {
		e := &Error{Property: name, Rule: rule}
		if n.kind == kindScalar {
			e.Value = n.printable(v)
		}
		return e
	}
	switch n.kind {
	case kindList:
		for i := range v.Len() {
			if err := n.elem.validateNode(v.Index(i), fmt.Sprintf("%s[%d]", name, i)); err != nil {
				return err
			}
		}
	case kindMap:
		byKey := make(map[string]reflect.Value, v.Len())
		for it := v.MapRange(); it.Next(); {
			byKey[it.Key().String()] = it.Value()
		}
		for _, key := range slices.Sorted(maps.Keys(byKey)) {
			if err := n.elem.validateNode(byKey[key], joinName(name, key)); err != nil {
				return err
			}
		}
	}
	return nil
}

// printable renders the value of a scalar for an error.
func (n *node) printable(v reflect.Value) string {
	if n.secret {
		return mask
	}
	if n.url {
		return printableValue(RedactURL(v.String()), false)
	}
	return printableValue(fmt.Sprint(v.Interface()), false)
}

// located completes the error of a struct's Validate method with the full name
// and the value of the property that it names.
func (n *node) located(v reflect.Value, name string, err error) *Error {
	var e *Error
	if !errors.As(err, &e) {
		return &Error{Property: name, Rule: oneLine(err.Error()), err: err}
	}
	found := *e
	if e.Property == "" {
		found.Property = name
		return &found
	}
	found.Property = joinName(name, e.Property)
	if leaf, value, ok := n.lookup(v, e.Property); ok && leaf.kind == kindScalar {
		found.Value = leaf.printable(value)
	}
	return &found
}

// lookup returns the node and the value at a path below the group n.
func (n *node) lookup(v reflect.Value, path string) (*node, reflect.Value, bool) {
	for rest := path; rest != ""; {
		switch n.kind {
		case kindGroup:
			end := strings.IndexAny(rest, ".[")
			if end < 0 {
				end = len(rest)
			}
			c, ok := n.child(rest[:end])
			if !ok {
				return nil, v, false
			}
			n, v, rest = c, v.FieldByIndex(c.index), strings.TrimPrefix(rest[end:], ".")
		case kindList:
			position, tail, ok := cutPosition(rest)
			if !ok || position >= v.Len() {
				return nil, v, false
			}
			n, v, rest = n.elem, v.Index(position), tail
		default:
			return nil, v, false
		}
	}
	return n, v, true
}
