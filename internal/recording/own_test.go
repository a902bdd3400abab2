// SPDX-License-Identifier: Apache-2.0

package recording

import (
	"log/slog"
	"testing"
	"time"

	"example.org/app/internal/recording/event"
)

// collect makes a collector with nothing but events of parts of the server, all of them with their
// stacks if stacks is set.
func collect(t testing.TB, stacks bool) *collector {
	t.Helper()
	s := settings{}
	for _, own := range ownTypes {
		s[own.Name] = eventSetting{enabled: true, stackTrace: stacks}
	}
	now := time.Now()
	c := newCollector(slog.New(slog.DiscardHandler), func() []Fact { return nil }, s, make(chan struct{}, 1), now)
	t.Cleanup(func() { c.stop(time.Now()) })
	return c
}

// ownEvents are one event of each kind, as interfaces, so that making one does not count.
var ownEvents = [event.Kinds]event.Event{
	event.KindAdminRequest:   event.AdminRequest{Operation: "queryUsers", Method: "GET", Path: "/users", Status: 200, Code: 1000},
	event.KindClientRequest:  event.ClientRequest{Role: "gateway", Request: "CREATE_MESSAGE", UserID: 1, Bytes: 100},
	event.KindPluginCall:     event.PluginCall{Plugin: "filter", Version: "1.0", Point: "ClientRequestHandler", Method: "transform", Outcome: "ok"},
	event.KindSQLTransaction: event.SQLTransaction{Engine: "sqlite", Statements: 1, Wait: time.Millisecond},
	event.KindNodeCall:       event.NodeCall{Call: "handleRequest", Subject: "app.role.service.handleRequest", Local: true},
	event.KindSessionOpened:  event.SessionOpened{UserID: 1, Device: "ANDROID", SessionID: 2},
	event.KindSessionClosed:  event.SessionClosed{UserID: 1, Device: "ANDROID", SessionID: 2, Status: 100},
}

// TestEventsAllocateNothing records events that the chunk has seen before, as nearly all are: only
// the chunk may grow.
func TestEventsAllocateNothing(t *testing.T) {
	for _, stacks := range []bool{false, true} {
		c := collect(t, stacks)
		for k, e := range ownEvents {
			const runs = 1000
			if n := testing.AllocsPerRun(runs, func() { c.record(e) }); n >= 1 {
				t.Errorf("%s, stacks %t: an event makes %g allocations", ownTypes[k].Name, stacks, n)
			}
		}
	}
}

// BenchmarkRecord is what an event costs the part that records it.
func BenchmarkRecord(b *testing.B) {
	for name, stacks := range map[string]bool{"plain": false, "stack": true} {
		b.Run(name, func(b *testing.B) {
			c := collect(b, stacks)
			e := ownEvents[event.KindNodeCall]
			b.ReportAllocs()
			for n := 0; b.Loop(); n++ {
				if c.record(e); n%10_000 == 0 {
					c.take(time.Now())
				}
			}
		})
	}
}

func TestBlockRate(t *testing.T) {
	on := eventSetting{enabled: true, threshold: time.Millisecond}
	for _, test := range []struct {
		setting    eventSetting
		goroutines int
		want       time.Duration
	}{
		{eventSetting{threshold: time.Millisecond}, 10, 0},
		{on, 10, 100 * time.Millisecond},
		{on, 100, 100 * time.Millisecond},
		{on, 101, 200 * time.Millisecond},
		{on, 10_000, 12_800 * time.Millisecond},
		{eventSetting{enabled: true}, 1, time.Millisecond},
		{eventSetting{enabled: true, threshold: time.Minute}, 1, time.Second},
	} {
		if got := time.Duration(blockRate(test.setting, test.goroutines)); got != test.want {
			t.Errorf("%+v with %d goroutines: %v, want %v", test.setting, test.goroutines, got, test.want)
		}
	}
}
