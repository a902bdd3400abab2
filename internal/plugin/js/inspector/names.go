// SPDX-License-Identifier: Apache-2.0

package inspector

import "example.org/app/internal/plugin/js/inspector/syntax"

// patternNames appends the names that a binding target declares.
func patternNames(n *syntax.Node, into []string) []string {
	if n == nil {
		return into
	}
	switch n.Kind {
	case syntax.Identifier:
		return append(into, n.Name)
	case syntax.ObjectPattern, syntax.ArrayPattern:
		for _, c := range n.List {
			into = patternNames(c, into)
		}
	case syntax.Property:
		return patternNames(n.B, into)
	case syntax.AssignmentPattern, syntax.Rest:
		return patternNames(n.A, into)
	}
	return into
}

// hoisted appends the names that var declares anywhere in a function. Expressions declare none.
func hoisted(n *syntax.Node, into []string) []string {
	switch n.Kind {
	case syntax.Variables:
		if n.Has(syntax.Var) {
			for _, d := range n.List {
				into = patternNames(d.A, into)
			}
		}
	case syntax.Program, syntax.Block, syntax.StaticBlock, syntax.Switch, syntax.Case, syntax.If, syntax.For, syntax.ForIn, syntax.ForOf, syntax.While, syntax.DoWhile,
		syntax.Labeled, syntax.With, syntax.Try, syntax.Catch, syntax.Export:
		n.Children(func(c *syntax.Node) { into = hoisted(c, into) })
	}
	return into
}

// nested appends the names of the functions that blocks inside a statement declare.
func nested(n *syntax.Node, into []string) []string {
	switch n.Kind {
	case syntax.Block, syntax.Switch, syntax.Case, syntax.If, syntax.For, syntax.ForIn, syntax.ForOf, syntax.While, syntax.DoWhile, syntax.Labeled, syntax.With, syntax.Try,
		syntax.Catch:
		n.Children(func(c *syntax.Node) {
			if isDeclaredFunction(c) {
				into = append(into, c.A.Name)
			} else {
				into = nested(c, into)
			}
		})
	}
	return into
}

// lexical appends the names that statements of one block declare for that block.
func lexical(list []*syntax.Node, into []string) []string {
	for _, n := range list {
		if n.Kind == syntax.Import {
			for _, i := range n.List {
				into = append(into, i.Name)
			}
		}
		if (n.Kind == syntax.Export || n.Kind == syntax.ExportValue) && n.A != nil {
			n = n.A
		}
		switch {
		case n.Kind == syntax.Variables && !n.Has(syntax.Var):
			for _, d := range n.List {
				into = patternNames(d.A, into)
			}
		case (n.Kind == syntax.Function || n.Kind == syntax.Class) && n.Has(syntax.Declared) && n.A != nil:
			into = append(into, n.A.Name)
		}
	}
	return into
}

// suspends reports whether a statement suspends its function itself.
func suspends(n *syntax.Node) bool {
	if n.Kind == syntax.Await || n.Kind == syntax.Yield || n.Kind == syntax.ForOf && n.Has(syntax.Async) {
		return true
	}
	found := false
	n.Children(func(c *syntax.Node) { found = found || c.Kind != syntax.Function && suspends(c) })
	return found
}

// suspendsInHead reports whether a loop suspends while it assigns what it iterates over.
func suspendsInHead(n *syntax.Node) bool {
	if n.Kind == syntax.ForOf && (n.A.Kind == syntax.ObjectPattern || n.A.Kind == syntax.ArrayPattern) && suspends(n.A) {
		return true
	}
	found := false
	n.Children(func(c *syntax.Node) { found = found || c.Kind != syntax.Function && suspendsInHead(c) })
	return found
}

// hasFunction reports whether a node contains a function or class.
func hasFunction(n *syntax.Node) bool {
	found := n.Kind == syntax.Function || n.Kind == syntax.Class
	n.Children(func(c *syntax.Node) { found = found || hasFunction(c) })
	return found
}
