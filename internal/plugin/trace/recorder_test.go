// SPDX-License-Identifier: Apache-2.0

package trace

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"example.org/app/internal/config"
)

// settings returns the default settings with changes.
func settings(change func(*config.PluginTraces)) config.PluginTraces {
	s := config.Default().Plugin.Traces
	change(&s)
	return s
}

// record records a call with one step and reports whether it was sampled.
func record(r *Recorder, s Subject, a Attempt) bool {
	if !r.Wants(Cause{UserID: s.UserID, RequestID: s.RequestID}) {
		return false
	}
	c := r.Begin(s)
	c.Add(a)
	c.End()
	return true
}

func subject(user int64, request string) Subject {
	return Subject{UserID: &user, RequestID: request, Point: "P", Method: "m"}
}

// found returns the ids of the traces that a filter selects.
func found(r *Recorder, f Filter) (ids []int64) {
	_, page := r.Find(f, 0, 1000)
	for _, t := range page {
		ids = append(ids, t.ID)
	}
	return ids
}

func TestSwitches(t *testing.T) {
	r := NewRecorder(config.Default().Plugin.Traces)
	if r.On() || record(r, subject(1, "7"), Attempt{}) {
		t.Error("recorded by default")
	}
	var none *Recorder
	if none.On() || none.Wants(Cause{}) {
		t.Error("recorded without a recorder")
	}
	r.Configure(settings(func(s *config.PluginTraces) { s.UserIDs, s.RequestIDs = []int64{5}, []string{"7"} }))
	for _, test := range []struct {
		subject Subject
		want    bool
	}{
		{subject(5, "1"), true},
		{subject(6, "1"), false},
		{subject(6, "7"), true},
		{Subject{RequestID: "7"}, true},
		{Subject{}, false},
	} {
		if got := record(r, test.subject, Attempt{}); got != test.want {
			t.Errorf("%+v is recorded: %v", test.subject, got)
		}
	}
	if got := found(r, Filter{}); len(got) != 3 {
		t.Errorf("kept are %v", got)
	}
	for number, want := range map[int64]bool{7: true, 8: false} {
		if got := r.Wants(Cause{Number: &number}); got != want {
			t.Errorf("request %d of a client is recorded: %v", number, got)
		}
	}
	r.Configure(settings(func(*config.PluginTraces) {}))
	if r.On() || record(r, subject(5, "7"), Attempt{}) || len(found(r, Filter{})) != 3 {
		t.Error("it was not switched off, or forgot what it had")
	}
}

// TestShare samples requests: all calls of a request are recorded or none.
func TestShare(t *testing.T) {
	const requests = 20000
	r := NewRecorder(settings(func(s *config.PluginTraces) { s.SampleRate = 0.1 }))
	on := r.on.Load()
	recorded := 0
	for i := range requests {
		user, number := int64(i%7), int64(i)
		c := Cause{UserID: &user, Number: &number}
		if i%2 == 0 {
			c = Cause{RequestID: fmt.Sprint(i)}
		}
		wants := on.wants(r.seed, c)
		if again := on.wants(r.seed, c); again != wants { // A minute may have begun.
			if wants = on.wants(r.seed, c); wants != again {
				t.Fatalf("request %d is recorded by halves", i)
			}
		}
		if wants {
			recorded++
		}
	}
	if recorded < requests/20 || recorded > requests*3/20 {
		t.Errorf("%d of %d are recorded", recorded, requests)
	}
	recorded = 0
	for range requests {
		if on.wants(r.seed, Cause{}) {
			recorded++
		}
	}
	if recorded < requests/20 || recorded > requests*3/20 {
		t.Errorf("%d of %d without an id are recorded", recorded, requests)
	}
}

func TestFind(t *testing.T) {
	r := NewRecorder(settings(func(s *config.PluginTraces) { s.SampleRate = 1 }))
	record(r, subject(1, "7"), Attempt{Plugin: "a", Outcome: Refused, Code: 1102, Reason: "no"})
	record(r, Subject{Point: "Q"}, Attempt{Plugin: "b", Outcome: Failed})
	c := r.Begin(subject(2, "8"))
	c.Add(Attempt{Plugin: "a", Outcome: Changed, Before: 1, After: 2})
	c.Add(Attempt{Plugin: "b", Outcome: Changed, Before: 2, After: 2})
	c.Add(Attempt{Plugin: "c", Outcome: Answered, After: true})
	if got := c.End(); got.Outcome != Answered || got.Steps[0].Outcome != Changed || got.Steps[1].Outcome != Unchanged || len(got.Steps[1].Changes) != 0 {
		t.Errorf("the trace is %+v", got)
	}
	if got := r.Begin(subject(3, "9")).End(); got != nil {
		t.Errorf("no extension was called, but the trace is %+v", got)
	}
	for _, test := range []struct {
		filter Filter
		want   []int64
	}{
		{Filter{}, []int64{3, 2, 1}},
		{Filter{RequestIDs: []string{"7", "x"}}, []int64{1}},
		{Filter{UserIDs: []int64{2}}, []int64{3}},
		{Filter{Plugins: []string{"a"}}, []int64{3, 1}},
		{Filter{Points: []string{"Q"}}, []int64{2}},
		{Filter{Outcomes: []Outcome{Refused, Failed}}, []int64{2, 1}},
		{Filter{Plugins: []string{"b"}, Outcomes: []Outcome{Changed}}, nil},
		{Filter{Plugins: []string{"b"}, Outcomes: []Outcome{Unchanged}}, []int64{3}},
	} {
		if got := found(r, test.filter); !slices.Equal(got, test.want) {
			t.Errorf("%+v finds %v, want %v", test.filter, got, test.want)
		}
	}
	if total, page := r.Find(Filter{}, 1, 1); total != 3 || len(page) != 1 || page[0].ID != 2 {
		t.Errorf("the second page is %d, %v", total, page)
	}
	if total, page := r.Find(Filter{}, 9, 1); total != 3 || page != nil {
		t.Errorf("the last page is %d, %v", total, page)
	}
}

// TestMemoryIsBounded records more than the limit from many goroutines.
func TestMemoryIsBounded(t *testing.T) {
	const limit = 100_000
	r := NewRecorder(settings(func(s *config.PluginTraces) { s.SampleRate, s.MaxBytes, s.IncludeText = 1, limit, true }))
	var wg sync.WaitGroup
	for n := range 8 {
		wg.Go(func() {
			for i := range 500 {
				record(r, subject(int64(n), fmt.Sprint(i)), Attempt{Plugin: "a", Outcome: Answered, Reason: strings.Repeat("x", i*10), After: strings.Repeat("y", i*10)})
				if i%100 == 0 {
					r.Find(Filter{UserIDs: []int64{1}}, 0, 10)
				}
			}
		})
	}
	wg.Wait()
	sum := int64(0)
	_, page := r.Find(Filter{}, 0, 1000)
	for i, got := range page {
		sum += got.size()
		if got.ID != int64(4000-i) {
			t.Fatalf("the trace %d is %d, want the newest", i, got.ID)
		}
	}
	if sum > limit || sum < limit/2 || r.bytes != sum {
		t.Errorf("%d traces take %d bytes, counted are %d", len(page), sum, r.bytes)
	}
	r.Configure(settings(func(s *config.PluginTraces) { s.SampleRate, s.MaxBytes = 1, 0 }))
	if record(r, subject(1, "1"), Attempt{}); len(found(r, Filter{})) != 0 || r.bytes != 0 {
		t.Error("something is kept although nothing may be")
	}
}
