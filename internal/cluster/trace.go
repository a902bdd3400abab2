// SPDX-License-Identifier: Apache-2.0

package cluster

import "time"

const (
	// suddenLimit is how recently a node must have answered for its absence to be sudden. It must
	// be less than the time after which NATS closes a silent connection, pingInterval * maxPings.
	suddenLimit = 3 * time.Second
	// endedLimit is how long a sudden absence must last before the process of the node counts as
	// ended. A node that only lost its connection is back by then, or has cancelled the calls of
	// others, see cutLimit.
	endedLimit = 3 * time.Second
	// cutLimit is how long a process may be disconnected from NATS before it cancels the calls of
	// others that it is running. It must be less than endedLimit.
	cutLimit = 2 * time.Second
)

// A probeResult is the result of a probe of a node.
type probeResult int

const (
	// silent: no answer, or one that says nothing about this incarnation of the node.
	silent probeResult = iota
	// answering: the node answered.
	answering
	// absent: the node is not connected to NATS.
	absent
	// replaced: another incarnation of the node has its id.
	replaced
)

// A trace evaluates the probes of one incarnation of a node. It distinguishes a killed process from
// a paused one: both lose their connection to NATS, but the paused one only after pingInterval *
// maxPings of silence. A paused process carries out its requests when it resumes; a killed one
// never does.
type trace struct {
	// answered is when the last answered probe was sent. It is zero after an unanswered one.
	answered time.Time
	// absent is since when the node is suddenly absent, or zero.
	absent time.Time
}

// note adds the result of a probe and reports whether the process of the node has certainly ended.
func (t *trace) note(seen probeResult, sent, now time.Time) (ended bool) {
	switch {
	case seen == answering:
		*t = trace{answered: sent}
	case seen == silent, t.absent.IsZero() && (seen == replaced || t.answered.IsZero() || now.Sub(t.answered) > suddenLimit):
		*t = trace{}
	case t.absent.IsZero():
		t.absent = now
	default:
		return now.Sub(t.absent) >= endedLimit
	}
	return false
}
