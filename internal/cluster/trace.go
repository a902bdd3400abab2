// SPDX-License-Identifier: Apache-2.0

package cluster

import "time"

const (
	// suddenLimit is how long ago a node may have answered for its absence to be sudden. It must be less than the silence
	// after which NATS drops a connection, pingInterval * maxPings.
	suddenLimit = 3 * time.Second
	// endedLimit is how long a node that was suddenly absent must stay so before its process counts as ended: one that has
	// only lost its connection is back by then, or has given up the calls of others, see cutLimit.
	endedLimit = 3 * time.Second
	// cutLimit is how long a process may be cut off from NATS before it gives up the calls of others that it has begun. It
	// must be less than endedLimit.
	cutLimit = 2 * time.Second
)

// A sign is the outcome of a probe.
type sign int

const (
	// silent: no answer came, or it says nothing about this life of the node.
	silent sign = iota
	// answering: the node answered.
	answering
	// absent: the node is not connected to NATS.
	absent
	// replaced: another life of the node has its id.
	replaced
)

// A trace is what probes of one life of a node came to. It tells a process that was killed from one that is paused: both
// lose their connection to NATS, but the paused one only after it has been silent for pingInterval * maxPings. A paused
// process carries out its requests when it goes on; a killed one never does.
type trace struct {
	// answered is when the last probe was sent that the node answered. It is zero after silence.
	answered time.Time
	// absent is since when the node is suddenly absent; zero is not at all.
	absent time.Time
}

// note adds the outcome of a probe and reports whether the process of the node has certainly ended.
func (t *trace) note(seen sign, sent, now time.Time) (ended bool) {
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
