// SPDX-License-Identifier: Apache-2.0

package config

import (
	"maps"
	"strings"
)

// Source tells where the value of a property came from. Each one overrides
// those before it.
type Source string

// The sources, weakest first.
const (
	SourceDefault     Source = "default"
	SourceFile        Source = "file"
	SourceEnvironment Source = "environment"
	SourceFlag        Source = "flag"
	SourceCluster     Source = "cluster"
)

// Source returns where the value of a property came from.
func (c *Config) Source(p Property) Source {
	if s, ok := c.sources[p.Name]; ok {
		return s
	}
	return SourceDefault
}

// Value returns the value of a property as nested maps show it: secrets are
// masked. It is nil for a property that is not in the tree.
func (c *Config) Value(p Property) any {
	n, v, ok := configTree().root.lookup(c.value(), strings.TrimPrefix(p.Name, rootName+"."))
	if !ok {
		return nil
	}
	return n.exportLeaf(v)
}

// recorder returns a function for patch.apply that notes a source in a copy of
// what c knows.
func (c *Config) recorder(s Source) func(name string, _ origin, _ bool) {
	sources := maps.Clone(c.sources)
	if sources == nil {
		sources = make(map[string]Source)
	}
	c.sources = sources
	return func(name string, _ origin, _ bool) { sources[name] = s }
}

// Touched returns the properties that nested maps name, in the order of
// declaration, whether or not the values differ from those that hold. An
// unknown name or a value of the wrong type is an *Error.
func Touched(values map[string]any) ([]Property, error) {
	t := configTree()
	in, err := goInput(values, 0)
	if err != nil {
		return nil, &Error{Property: t.root.name, Rule: err.Error()}
	}
	p := t.newPatch()
	if err := p.assign(in, assignment{written: t.root.name}); err != nil {
		return nil, t.complete(err)
	}
	if err := p.finish(); err != nil {
		return nil, err
	}
	var touched []Property
	p.visitLeaves(func(n *node) { touched = append(touched, n.property()) })
	return touched, nil
}

// visitLeaves calls visit for every leaf that the patch writes.
func (p *patch) visitLeaves(visit func(*node)) {
	switch p.node.kind {
	case kindGroup:
		for _, part := range p.parts() {
			part.visitLeaves(visit)
		}
	case kindScalar:
		if p.value.IsValid() {
			visit(p.node)
		}
	default:
		if p.whole || len(p.elements)+len(p.entries) > 0 {
			visit(p.node)
		}
	}
}

// DefaultValue returns the built-in default of a property.
func DefaultValue(p Property) any { return Default().Value(p) }
