// SPDX-License-Identifier: Apache-2.0

package cluster

// Answers reports whether the node answered the last probe.
func Answers(c *Cluster, id string) bool {
	b := c.routes.breaker(id, c.Life(id))
	b.mu.Lock()
	defer b.mu.Unlock()
	return !b.trace.answered.IsZero()
}

// IsOpen reports whether the node gets no calls because it did not answer the last probe.
func IsOpen(c *Cluster, id string) bool { return c.routes.breaker(id, c.Life(id)).isOpen() }
