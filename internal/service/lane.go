// SPDX-License-Identifier: Apache-2.0

package service

import "time"

const (
	// laneLength is how many notifications may wait in a lane before those who make more have to wait.
	laneLength = 1024
	// maxBehind is how many calls of a lane may wait for gateways that do not answer.
	maxBehind = 16_384
	// stall is how long a lane waits for a gateway before it goes on with what is for others.
	stall = 100 * time.Millisecond
)

// A lane carries notifications one after another. A gateway that does not answer, such as one that was just killed,
// holds up what is for itself alone: that stays in its order, and the lane goes on for the others. The next life of a
// gateway does not wait for the one before.
type lane struct {
	// tasks has pointers because there are many lanes, most of which are never full.
	tasks chan *task
	// calls has an element for each call that has begun or waits for one before it.
	calls chan struct{}

	// What follows belongs to the goroutine of the lane.

	// behind is the last call to each gateway that the lane did not see the end of.
	behind map[string]begun
	timer  *time.Timer
}

// begun is a call to one life of a gateway; done is closed when it has ended.
type begun struct {
	life string
	done <-chan struct{}
}

func newLane() *lane {
	l := &lane{tasks: make(chan *task, laneLength), calls: make(chan struct{}, maxBehind), behind: map[string]begun{}, timer: time.NewTimer(0)}
	l.timer.Stop()
	return l
}

// call begins a call to a gateway, after those to the same life of it before. spawn starts a goroutine. The result is
// closed when the call has ended; fresh means that no other is waited for.
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

// await waits for calls, but not for long.
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
