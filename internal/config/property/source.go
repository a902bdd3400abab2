// SPDX-License-Identifier: Apache-2.0

package property

// Source is the source of a property's value. Each one overrides those before it.
type Source string

// The sources, in ascending precedence.
const (
	SourceDefault     Source = "default"
	SourceFile        Source = "file"
	SourceEnvironment Source = "environment"
	SourceFlag        Source = "flag"
	SourceCluster     Source = "cluster"
)

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
