// SPDX-License-Identifier: Apache-2.0

package service

import "time"

const (
	// laneLength is the capacity of a lane's queue; senders block when it is full.
	laneLength = 1024
	// maxBehind is how many calls of a lane may wait for gateways that do not answer.
	maxBehind = 16_384
	// stall is how long a lane waits for a gateway before it continues with others.
	stall = 100 * time.Millisecond
)

// A lane sends notifications one after another. A gateway that does not answer, for instance
// because it was just killed, delays only what is for itself, in order; the lane continues for the
// others. A new incarnation of a gateway does not wait for the former one.
type lane struct {
	// tasks has pointers because there are many lanes whose queues are rarely full.
	tasks chan *task
	// calls has an element for each call that runs or waits for an earlier one.
	calls chan struct{}

	// The following fields are used only by the lane's goroutine.

	// behind is the last unfinished call to each gateway.
	behind map[string]begun
	timer  *time.Timer
}

// begun is a call to one incarnation of a gateway; done is closed when it has ended.
type begun struct {
	life string
	done <-chan struct{}
}

func newLane() *lane {
	l := &lane{tasks: make(chan *task, laneLength), calls: make(chan struct{}, maxBehind), behind: map[string]begun{}, timer: time.NewTimer(0)}
	l.timer.Stop()
	return l
}

// call starts a call to a gateway, after earlier calls to the same incarnation. spawn starts a
// goroutine. done is closed when the call has ended; fresh is true if it does not wait for another
// one.
func (l *lane) call(node, life string, spawn func(func()), do func()) (done <-chan struct{}, fresh bool) {
	last := l.behind[node]
	before := last.done
	if before != nil {
		select {
		case <-before:
			before = nil
		default:
			if last.life != life {
				before = nil
			}
		}
	}
	end := make(chan struct{})
	l.calls <- struct{}{}
	spawn(func() {
		defer func() {
			<-l.calls
			close(end)
		}()
		if before != nil {
			<-before
		}
		do()
	})
	l.behind[node] = begun{life, end}
	return end, before == nil
}

// await waits for calls, up to a limit.
func (l *lane) await(calls map[string]<-chan struct{}) {
	if len(calls) == 0 {
		return
	}
	l.timer.Reset(stall)
	defer l.timer.Stop()
	for node, done := range calls {
		select {
		case <-done:
			if l.behind[node].done == done {
				delete(l.behind, node)
			}
		case <-l.timer.C:
			return
		}
	}
}

// settle waits until all calls have ended.
func (l *lane) settle() {
	for node, last := range l.behind {
		<-last.done
		delete(l.behind, node)
	}
}
