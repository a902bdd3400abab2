// SPDX-License-Identifier: Apache-2.0

package cluster

import "errors"

// A Strain is returned by the health check of a node that works, but not as it should. The node
// stays healthy and goes on leading. Calls to its role go to nodes without strain as long as there
// are any.
type Strain struct {
	// Refuse makes the node accept no calls to its role at all, because it is overloaded.
	Refuse bool
	Reason string
}

func (s *Strain) Error() string { return s.Reason }

// fitness is whether a node can work. It is guarded by the lock of the node.
type fitness struct {
	unhealthy error
	strain    *Strain
	// preparing is true until Ready is called.
	preparing bool
}

// note records the result of a health check and reports whether it changed.
func (f *fitness) note(err error) (changed bool) {
	strain, strained := errors.AsType[*Strain](err)
	if strained {
		err = nil
	}
	changed = (err == nil) != (f.unhealthy == nil) || (strain == nil) != (f.strain == nil) ||
		strain != nil && f.strain != nil && strain.Refuse != f.strain.Refuse
	f.unhealthy, f.strain = err, strain
	return changed
}

// refuses reports whether the node accepts no calls to its role although it is healthy.
func (f *fitness) refuses() bool { return f.preparing || f.strain != nil && f.strain.Refuse }

// Strained returns the strain of the node, or nil if it works as it should.
func (n *Node) Strained() *Strain {
	n.mu.RLock()
	defer n.mu.RUnlock()
	return n.fitness.strain
}
