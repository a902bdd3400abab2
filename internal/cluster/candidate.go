// SPDX-License-Identifier: Apache-2.0

package cluster

import "example.org/app/internal/role"

// A Candidate is a node that can receive calls to a role.
type Candidate struct {
	ID string
	// Answers is false while the node does not answer this process.
	Answers bool
}

// Candidates returns the healthy, active nodes of a role, ordered by id. It is for callers that
// distribute work among the nodes by their own rule and call them by name.
func Candidates(c *Cluster, kind role.Role) []Candidate {
	c.prober.start()
	peers := c.routes.peers(kind)
	list := make([]Candidate, len(peers))
	for i, p := range peers {
		list[i] = Candidate{ID: p.id, Answers: !p.breaker.isOpen()}
	}
	return list
}
