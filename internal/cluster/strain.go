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

// setHealth notes the result of a health check and reports whether it is another one than before.
func (n *Node) setHealth(err error) (changed bool) {
	strain, strained := errors.AsType[*Strain](err)
	if strained {
		err = nil
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	changed = (err == nil) != (n.unhealthy == nil) || (strain == nil) != (n.strain == nil) ||
		strain != nil && n.strain != nil && strain.Refuse != n.strain.Refuse
	n.unhealthy, n.strain = err, strain
	return changed
}

// Strained returns what keeps the node from working as it should, nil if nothing does.
func (n *Node) Strained() *Strain {
	n.mu.RLock()
	defer n.mu.RUnlock()
	return n.strain
}
