// SPDX-License-Identifier: Apache-2.0

package cluster

import "errors"

// A Strain is what a health check returns for a node that works, but not as it should. The node stays healthy and goes on
// leading. Calls to its role go to other nodes that have none, as long as there are such.
type Strain struct {
	// Refuse makes the node take no calls to its role at all: it has more to do than it can.
	Refuse bool
	Reason string
}

func (s *Strain) Error() string { return s.Reason }

// fitness is whether a node can work. It belongs to the lock of the node.
type fitness struct {
	unhealthy error
	strain    *Strain
	// preparing says that Ready was not called yet.
	preparing bool
}

// note notes the result of a health check and reports whether it is another one than before.
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

// refuses reports whether the node takes no calls to its role although it is healthy.
func (f *fitness) refuses() bool { return f.preparing || f.strain != nil && f.strain.Refuse }

// Strained returns what keeps the node from working as it should, nil if nothing does.
func (n *Node) Strained() *Strain {
	n.mu.RLock()
	defer n.mu.RUnlock()
	return n.fitness.strain
}
