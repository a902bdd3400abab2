// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// TestSubjects says for every method whom its calls concern.
func TestSubjects(t *testing.T) {
	none := []*Method{HandleAdminAction, HandleNotification, MessagesToDelete, HandleDomainEvents, ConsumeDomainEvents}
	for _, p := range Points {
		for _, m := range p.Methods {
			args := make([]any, len(m.Params))
			for i, param := range m.Params {
				switch {
				case param.Name == "requesterId" || len(args) == 1 && param.Name == "userId":
					args[i] = int64(7)
				case param.Name == "userId":
					args[i] = int64(8) // That is somebody else.
				}
			}
			switch m {
			case TransformRequest, HandleRequest:
				args[0] = &ClientRequest{UserID: 7}
			case Authenticate:
				args[0] = &UserLoginInfo{UserID: 7}
			case GoOnline, GoOffline:
				args[0] = &ClientSessions{UserID: 7}
			}
			id, ok := m.concernedBy(args)
			if want := !slices.Contains(none, m); ok != want || ok && id != 7 {
				t.Errorf("%s.%s concerns %d, %v", p.Name, m.Name, id, ok)
			}
		}
	}
	for _, m := range []*Method{TransformRequest, BeforeNotify, CancelMeeting} {
		if _, ok := m.concernedBy(make([]any, 1)); ok {
			t.Errorf("%s concerns somebody without arguments", m.Name)
		}
	}
}

// TestShares looks at how users are divided.
func TestShares(t *testing.T) {
	const users = 20_000
	one, other := &Plugin{Descriptor: Descriptor{ID: "one"}}, &Plugin{Descriptor: Descriptor{ID: "other"}}
	for percentage := range 101 {
		now, more, elsewhere := newSplit(one, Split{Percentage: percentage}), newSplit(one, Split{Percentage: percentage + 1}), newSplit(other, Split{Percentage: percentage})
		n, both := 0, 0
		for id := range int64(users) {
			if !now.takes(id) {
				continue
			}
			n++
			if !more.takes(id) {
				t.Fatalf("user %d is in %d %% and not in %d %%", id, percentage, percentage+1)
			}
			if elsewhere.takes(id) {
				both++
			}
		}
		if want := users * percentage / 100; n < want-users/50 || n > want+users/50 {
			t.Errorf("%d %% are %d of %d users", percentage, n, users)
		}
		if percentage == 50 && (both < users/5 || both > users/3) {
			t.Errorf("%d users are the first for two plugins", both)
		}
	}
	// The places must not change with a new version of the server: another node may have an older
	// one.
	if got := []uint64{share(1, 1), share(1, 2), share(2, 1), share(1, -1)}; !slices.Equal(got, []uint64{36, 19, 10, 52}) {
		t.Errorf("the places are %v", got)
	}
}

// try tries functions as version 2 of a plugin.
func (w *world) try(id string, s Split, f ...functions) *Plugin {
	w.t.Helper()
	w.host.mu.Lock()
	w.host.scripts[id+" 2"] = script{id: id, version: "2", extensions: f}
	w.host.mu.Unlock()
	p, err := w.Trials.Try(w.t.Context(), JavaScript, Source{Name: id, Data: []byte(id + " 2")}, s)
	if err != nil {
		w.t.Fatal(err)
	}
	return p
}

func (w *world) transformFor(user int64) (int64, error) {
	r, err := Pass(w.t.Context(), w.Calls, TransformRequest, &ClientRequest{UserID: user})
	return r.RequestID, err
}

func (w *world) wantFor(user, want int64) {
	w.t.Helper()
	if got, err := w.transformFor(user); err != nil || got != want {
		w.t.Errorf("the request of user %d is %d, %v, want %d", user, got, err, want)
	}
}

// TestSplitOfCalls leads calls to versions that do not have the same extensions, and to a candidate
// that cannot run.
func TestSplitOfCalls(t *testing.T) {
	w := newWorld(t)
	named := func(class string, f functions) functions {
		f.class = class
		return f
	}
	w.add("before", adding(1000))
	w.addScript("one", script{id: "one", version: "1", extensions: []functions{named("A", adding(1)), named("B", adding(2))}})
	w.add("after", adding(2000))
	candidate := w.try("one", Split{UserIDs: []int64{5}}, named("B", adding(10)), named("C", adding(20)))
	w.wantFor(4, 3003)
	w.wantFor(5, 3030)
	w.Recovery.quarantine(candidate.members[0], "it is lost")
	w.wantFor(5, 3003)
	if w.Unavailable() != "" {
		t.Errorf("unavailable: %s", w.Unavailable())
	}
	w.Trials.End(t.Context(), "one")
	w.Trials.End(t.Context(), "one")
	w.wantFor(5, 3003)
	if w.Trials.Resplit("one", Split{}) {
		t.Error("a plugin without a candidate was split")
	}

	// Removal takes the candidate along.
	w.try("one", Split{Percentage: 100}, named("B", adding(10)))
	if _, err := w.Remove(t.Context(), "one"); err != nil {
		t.Error(err)
	}
	w.wantFor(5, 3000)
	if w.host.open != 2 {
		t.Errorf("%d modules are open", w.host.open)
	}
}

// TestSplitOfObservers tells each version of what concerns its users, and only one of what concerns
// nobody.
func TestSplitOfObservers(t *testing.T) {
	w := newWorld(t)
	var mu sync.Mutex
	var told []string
	observer := func(version string) functions {
		tell := func(_ context.Context, args []any) (any, error) {
			mu.Lock()
			defer mu.Unlock()
			told = append(told, fmt.Sprint(version, args[1:]))
			return nil, nil
		}
		return functions{class: "O", points: []*Point{NotificationHandler, UserOnlineStatusChangeHandler, AdminActionHandler, DomainEventHandler}, calls: map[*Method]func(context.Context, []any) (any, error){
			HandleNotification: tell, GoOnline: tell, HandleAdminAction: tell, HandleDomainEvents: tell,
		}}
	}
	w.add("one", observer("1"))
	w.try("one", Split{UserIDs: []int64{5, 6}}, observer("2"))
	want := func(want ...string) {
		t.Helper()
		w.tellers.Wait()
		mu.Lock()
		defer mu.Unlock()
		slices.Sort(told)
		if !slices.Equal(told, want) {
			t.Errorf("told were %q, want %q", told, want)
		}
		told = nil
	}
	w.Calls.Tell(t.Context(), HandleNotification, nil, []int64{4, 5, 6}, []int64{6})
	want("1[[4] []]", "2[[5 6] [6]]")
	w.Calls.Tell(t.Context(), HandleNotification, nil, []int64{4}, []int64{})
	want("1[[4] []]")
	w.Calls.Tell(t.Context(), HandleNotification, nil, []int64{}, []int64{5})
	want("2[[] [5]]")
	w.Calls.Tell(t.Context(), GoOnline, &ClientSessions{UserID: 5}, nil)
	want("2[<nil>]")
	w.Calls.Tell(t.Context(), GoOnline, &ClientSessions{UserID: 4}, nil)
	want("1[<nil>]")
	w.Calls.Tell(t.Context(), HandleAdminAction, &AdminAction{})
	want("1[]")
	w.Calls.Tell(t.Context(), HandleDomainEvents, []DomainEvent{})
	want("1[]")
}

// TestCandidateThatFails lets a candidate fail until it is quarantined, while its users are served.
func TestCandidateThatFails(t *testing.T) {
	w := newWorld(t)
	w.settings.Quarantine.Enabled, w.settings.Quarantine.Failures = true, 3
	w.add("one", adding(1))
	var served atomic.Int64
	w.try("one", Split{UserIDs: []int64{5}}, transforms(func(context.Context, *ClientRequest) (any, error) {
		served.Add(1)
		return nil, errors.New("planted")
	}))
	for range 3 {
		if _, err := w.transformFor(5); err == nil || !strings.Contains(err.Error(), "planted") {
			t.Errorf("the candidate does not fail: %v", err)
		}
		w.wantFor(4, 1)
	}
	w.wantFor(5, 1)
	if served.Load() != 3 {
		t.Errorf("the candidate was called %d times", served.Load())
	}
}

// TestSplitAllocates proves that a call allocates no more than before because of splits, with and
// without one.
func TestSplitAllocates(t *testing.T) {
	w := newWorld(t)
	w.Manager.opts.Observe = nil
	w.add("one", transforms(func(context.Context, *ClientRequest) (any, error) { return nil, nil }))
	request := &ClientRequest{UserID: 5}
	allocations := func() float64 {
		return testing.AllocsPerRun(100, func() {
			if _, err := Pass(t.Context(), w.Calls, TransformRequest, request); err != nil {
				t.Error(err)
			}
		})
	}
	before := allocations()
	if before > 3 { // As many as before there were splits.
		t.Errorf("a call allocates %v times", before)
	}
	w.try("one", Split{Percentage: 50}, transforms(func(context.Context, *ClientRequest) (any, error) { return nil, nil }))
	for _, request.UserID = range []int64{1, 2, 3, 4, 5, 6} {
		if got := allocations(); got > before {
			t.Errorf("through a split a call allocates %v times, without one %v", got, before)
		}
	}
}

// TestMeter compares what a meter says with the durations that it was told.
func TestMeter(t *testing.T) {
	for us := time.Duration(0); us < 100_000_000; us += us/100 + 1 {
		d := us * time.Microsecond
		if got := boundOf(bucketOf(d)); got < d || got > d+d/8 {
			t.Fatalf("%s is counted as up to %s", d, got)
		}
	}
	if got := bucketOf(1 << 62); got != buckets-1 {
		t.Errorf("a very long call is in bucket %d", got)
	}
	var m meter
	if got := m.read().P99(); got != 0 {
		t.Errorf("nothing took %s", got)
	}
	for i := range 200 {
		outcome := outcomeOK
		switch {
		case i >= 197:
			outcome = outcomeTimeout
		case i >= 195:
			outcome = outcomeRefused
		}
		m.note(TransformRequest, time.Duration(i+1)*time.Millisecond, outcome)
	}
	m.note(HandleAdminAction, time.Hour, outcomeError) // That concerns no user.
	first := m.read()
	if got := first.P99(); first.Calls != 200 || first.Failed != 3 || first.Refused != 2 || got < 198*time.Millisecond || got > 223*time.Millisecond {
		t.Errorf("%d calls, %d failed, %d refused, up to %s", first.Calls, first.Failed, first.Refused, got)
	}
	m.note(HandleNotification, time.Microsecond, outcomeError)
	if later := m.read().Since(first); later.Calls != 1 || later.Failed != 1 || later.Refused != 0 || later.P99() != time.Microsecond {
		t.Errorf("later %d calls, %d failed, up to %s", later.Calls, later.Failed, later.P99())
	}
}
