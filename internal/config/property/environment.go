// SPDX-License-Identifier: Apache-2.0

package property

import (
	"slices"
	"strings"
)

// fromEnvironment reads the variables with the root's prefix, ordered by name.
func (t *Tree) fromEnvironment(environ []string) (*patch, *Error) {
	root := t.newPatch()
	prefix := envName(t.root.name) + "_"
	variables := slices.DeleteFunc(slices.Clone(environ), func(v string) bool {
		name, _, ok := strings.Cut(v, "=")
		return !ok || !strings.HasPrefix(name, prefix)
	})
	slices.SortStableFunc(variables, func(a, b string) int {
		nameA, _, _ := strings.Cut(a, "=")
		nameB, _, _ := strings.Cut(b, "=")
		return strings.Compare(nameA, nameB)
	})
	for _, v := range variables {
		variable, value, _ := strings.Cut(v, "=")
		in := input{kind: inputText, text: value, flat: true, origin: origin{source: "environment variable " + variable}}
		path, ok := t.root.matchEnv(strings.TrimPrefix(variable, prefix))
		if !ok {
			return nil, &Error{Source: in.origin.String(), Rule: unknownRule, Suggestion: t.suggestEnv(variable)}
		}
		a := assignment{written: variable}
		target, err := root.descend(path, in, a)
		if err == nil {
			err = target.assign(in, a)
		}
		if err != nil {
			return nil, err
		}
	}
	return root, root.finish()
}

// matchEnv returns the path below the node for a variable's name. The name alone does not show
// where a segment ends, so all possibilities are tried. The builder has ensured that at most one is
// a property.
func (n *node) matchEnv(rest string) (string, bool) {
	switch n.kind {
	case kindGroup:
		for _, c := range n.children {
			tail, ok := strings.CutPrefix(rest, envName(c.segment))
			if !ok {
				continue
			}
			if path, ok := c.matchEnvTail(tail); ok {
				return c.segment + path, true
			}
		}
	case kindList:
		digits, _, _ := strings.Cut(rest, "_")
		path, ok := n.elem.matchEnvTail(strings.TrimPrefix(rest, digits))
		at := "[" + digits + "]"
		if _, _, valid := cutPosition(at); !valid || !ok {
			return "", false
		}
		return at + path, true
	case kindMap:
		// Keys with capitals can only be given by a file or a flag.
		return strings.ToLower(rest), rest != ""
	}
	return "", false
}

// matchEnvTail matches what follows the name of the node itself: nothing, or an underscore and
// more. The resulting path can be appended to the node's.
func (n *node) matchEnvTail(tail string) (string, bool) {
	if tail == "" {
		return "", n.kind != kindGroup
	}
	if tail[0] != '_' {
		return "", false
	}
	path, ok := n.matchEnv(tail[1:])
	if n.kind != kindList {
		path = "." + path
	}
	return path, ok
}
