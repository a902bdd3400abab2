// SPDX-License-Identifier: Apache-2.0

package event

import (
	"testing"
	"time"
)

func thresholds(set map[Kind]time.Duration) (t [Kinds]time.Duration) {
	for k := range t {
		t[k] = Never
	}
	for k, d := range set {
		t[k] = d
	}
	return t
}

func TestSubscriptionsComeAndGo(t *testing.T) {
	var first, second int
	if On(KindNodeCall) || Wants(KindNodeCall, time.Hour) {
		t.Fatal("somebody wants events before anybody subscribed")
	}
	a := Subscribe(thresholds(map[Kind]time.Duration{KindNodeCall: time.Second}), func(Event) { first++ })
	b := Subscribe(thresholds(map[Kind]time.Duration{KindNodeCall: time.Millisecond, KindPluginCall: 0}), func(Event) { second++ })
	Allow(KindNodeCall, 2)
	Allow(KindPluginCall, 1)
	for _, test := range []struct {
		kind Kind
		took time.Duration
		want bool
	}{
		{KindNodeCall, time.Microsecond, false},
		{KindNodeCall, time.Millisecond, true},
		{KindPluginCall, 0, true},
		{KindPluginCall, 0, false}, // No more are granted.
		{KindAdminRequest, time.Hour, false},
	} {
		if got := Wants(test.kind, test.took); got != test.want {
			t.Errorf("Wants(%d, %v) = %t", test.kind, test.took, got)
		}
	}
	Record(NodeCall{})
	b.Cancel()
	b.Cancel()
	Record(NodeCall{})
	if first != 2 || second != 1 {
		t.Errorf("the subscribers got %d and %d events", first, second)
	}
	if Wants(KindNodeCall, time.Millisecond) || On(KindPluginCall) {
		t.Error("the threshold of a subscription that was cancelled still counts")
	}
	a.Cancel()
	if On(KindNodeCall) {
		t.Error("somebody still wants events")
	}
}

// BenchmarkWantsNothing is what a hook costs while no recording runs.
func BenchmarkWantsNothing(b *testing.B) {
	for b.Loop() {
		if Wants(KindPluginCall, time.Second) {
			b.Fatal("somebody wants events")
		}
	}
}
