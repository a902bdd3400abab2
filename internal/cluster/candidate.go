// SPDX-License-Identifier: Apache-2.0

package cluster

import "example.org/app/internal/role"

// A Candidate is a node that calls to a role may go to.
type Candidate struct {
	ID string
	// Answers is false while the node does not answer this process.
	Answers bool
}

// Candidates returns the nodes of a role that are healthy and active, by their ids. It is for those who share work among the
// nodes by a rule of their own and call them by name.
func Candidates(c *Cluster, kind role.Role) []Candidate {
	c.prober.start()
	peers := c.routes.peers(kind)
	list := make([]Candidate, len(peers))
	for i, p := range peers {
		list[i] = Candidate{ID: p.id, Answers: !p.breaker.isOpen()}
	}
	return list
}
