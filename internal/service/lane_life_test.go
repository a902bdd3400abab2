// SPDX-License-Identifier: Apache-2.0

package service

import "testing"

// TestNextLifeOfGateway proves that calls to a restarted gateway do not wait for those to the dead
// one.
func TestNextLifeOfGateway(t *testing.T) {
	l, release := newLane(), make(chan struct{})
	spawn := func(fn func()) { go fn() }
	dead, fresh := l.call("gateway", "first", spawn, func() { <-release })
	if !fresh {
		t.Error("the first call waits for another")
	}
	after, fresh := l.call("gateway", "first", spawn, func() {})
	if fresh {
		t.Error("a call to the same life waits for none")
	}
	next, fresh := l.call("gateway", "second", spawn, func() {})
	if !fresh {
		t.Error("a call to the next life waits for one to the dead")
	}
	<-next
	other, _ := l.call("other", "first", spawn, func() {})
	<-other
	select {
	case <-after:
		t.Error("a call has overtaken the one before")
	default:
	}
	close(release)
	<-dead
	<-after
	l.settle()
}
