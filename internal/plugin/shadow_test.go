// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"example.org/app/internal/apierr"
	"example.org/app/internal/plugin/trace"
	"example.org/app/internal/wire"
)

// counted waits until a shadow has counted what is wanted.
func (w *world) counted(id string, want ShadowCounts) {
	w.t.Helper()
	var got ShadowCounts
	for end := time.Now().Add(2 * time.Minute); time.Now().Before(end); time.Sleep(time.Millisecond) {
		if got, _ = w.Trials.Shadow(id); got == want {
			return
		}
	}
	w.t.Fatalf("the shadow counts %+v, want %+v", got, want)
}

// TestShadow compares a candidate with its plugin on copies of calls, which change nothing for
// anybody.
func TestShadow(t *testing.T) {
	w := newWorld(t)
	named := func(class string, f functions) functions {
		f.class = class
		return f
	}
	w.add("before", adding(1000))
	w.addScript("one", script{id: "one", version: "1", extensions: []functions{named("A", adding(1)), named("B", transforms(func(_ context.Context, r *ClientRequest) (any, error) {
		switch r.UserID {
		case 3:
			return nil, apierr.New(apierr.MessageIsIllegal, "no")
		case 4:
			return nil, errors.New("planted in the active version")
		}
		return nil, nil
	}))}})
	w.add("after", adding(2000))
	var ids sync.Map
	candidate := w.try("one", Split{Percentage: 100, Shadow: true}, named("C", transforms(func(ctx context.Context, r *ClientRequest) (any, error) {
		ids.Store(r.UserID, r.RequestID)
		changed := *r
		changed.RequestID++
		switch r.UserID {
		case 2:
			changed.ClientIP, changed.RequestID = "10.0.0.1", 7
		case 3:
			return nil, apierr.New(apierr.MessageIsIllegal, "no")
		case 5:
			return nil, apierr.New(apierr.MessageIsIllegal, "no")
		case 6:
			return nil, errors.New("planted")
		case 7:
			panic("host")
		}
		return &changed, nil
	})))
	w.saw()
	w.wantFor(1, 3001)
	w.counted("one", ShadowCounts{Calls: 1, Equal: 1})
	if id, _ := ids.Load(int64(1)); id != int64(1000) {
		t.Errorf("the candidate got the request %v, want 1000", id)
	}
	w.wantFor(2, 3001)
	w.counted("one", ShadowCounts{Calls: 2, Equal: 1, Different: 1})
	if _, err := w.transformFor(3); apierr.From(err).Reason != "no" {
		t.Errorf("the error is %v", err)
	}
	w.counted("one", ShadowCounts{Calls: 3, Equal: 2, Different: 1})
	if _, err := w.transformFor(4); err == nil {
		t.Error("the active version does not fail")
	}
	w.counted("one", ShadowCounts{Calls: 4, Equal: 2, Different: 2})
	w.wantFor(5, 3001)
	w.counted("one", ShadowCounts{Calls: 5, Equal: 2, Different: 3})
	w.wantFor(6, 3001)
	w.wantFor(7, 3001)
	w.counted("one", ShadowCounts{Calls: 7, Equal: 2, Different: 3, Failed: 2})
	if got := w.saw(); slices.ContainsFunc(got, func(s string) bool { return strings.HasPrefix(s, "one/C") }) {
		t.Errorf("the shadow is among the calls that are observed: %q", got)
	}
	if p, _, ok := w.Trials.Find("one"); !ok || p != candidate || p.Extensions()[0].Calls != 7 {
		t.Errorf("the candidate is %+v, %v", p, ok)
	}
	if active, own, ok := w.Trials.Readings("one"); !ok || active.Calls != 14 || active.Refused != 1 || own.Calls != 7 || own.Refused != 2 || own.Failed != 2 {
		t.Errorf("read: active %+v, candidate %+v, %v", active.Calls, own.Calls, ok)
	}

	samples := map[int64]*trace.Sample{}
	_, kept := w.Trials.ShadowSamples("one")
	for _, s := range kept {
		for _, a := range s.Arguments {
			if a.Path == "clientRequest.userId" {
				var id int64
				_, _ = fmt.Sscan(*a.After, &id)
				samples[id] = s
			}
		}
	}
	if len(samples) != 5 {
		t.Fatalf("there are %d samples", len(samples))
	}
	diff := map[string]string{}
	for _, c := range samples[2].Differences {
		diff[c.Path] = text(c.Before) + " → " + text(c.After)
	}
	// Of the other text nothing but the length is shown.
	if want := map[string]string{"requestId": "1001 → 7", "clientIp": "text of 0 characters → text of 8 characters"}; !reflect.DeepEqual(diff, want) {
		t.Errorf("the differences are %q", diff)
	}
	if s := samples[2]; s.Point != "ClientRequestHandler" || s.Method != "transform" || s.Active.Version != "1" || s.Candidate.Version != "2" || s.Active.Outcome != trace.Changed || s.Candidate.Outcome != trace.Changed {
		t.Errorf("the sample is %+v", s)
	}
	if s := samples[5]; s.Active.Outcome != trace.Changed || s.Candidate.Outcome != trace.Refused || s.Candidate.Reason != "no" || s.Candidate.Code != int32(apierr.MessageIsIllegal) {
		t.Errorf("the sample is %+v", s)
	}
	if s := samples[6]; s.Candidate.Outcome != trace.Failed || s.Candidate.Reason != "planted" || !s.Failed() {
		t.Errorf("the sample is %+v", s)
	}

	// Not everybody's calls are copied.
	if !w.Trials.Resplit("one", Split{UserIDs: []int64{1}}) {
		t.Error("the shadow got no other users")
	}
	w.wantFor(9, 3001)
	w.wantFor(1, 3001)
	w.counted("one", ShadowCounts{Calls: 8, Equal: 3, Different: 3, Failed: 2})
	if _, ok := ids.Load(int64(9)); ok {
		t.Error("a call of another user was copied")
	}
	if _, err := w.Trials.Promote(t.Context(), "one"); err == nil || !strings.Contains(err.Error(), "is a shadow") {
		t.Errorf("a shadow was promoted: %v", err)
	}
	w.Trials.End(t.Context(), "one")
	w.wantFor(1, 3001)
	if _, ok := w.Trials.Shadow("one"); ok {
		t.Error("there is still a shadow")
	}
	if _, past := w.Trials.ShadowSamples("one"); len(past) != len(kept) {
		t.Errorf("%d samples are left of %d", len(past), len(kept))
	}
}

func text(s *string) string {
	if s == nil {
		return "-"
	}
	return *s
}

// TestShadowThatHangs floods a candidate that answers nothing: callers notice nothing, and what
// does not fit is dropped.
func TestShadowThatHangs(t *testing.T) {
	w := newWorld(t)
	w.add("one", adding(1))
	var inside atomic.Int64
	w.try("one", Split{Percentage: 100, Shadow: true}, transforms(func(ctx context.Context, _ *ClientRequest) (any, error) {
		inside.Add(1)
		<-ctx.Done()
		return nil, ctx.Err()
	}))
	const calls = maxShadowCalls + maxShadowWaiting + 100
	for range calls {
		w.wantFor(1, 1)
	}
	got, _ := w.Trials.Shadow("one")
	if got.Dropped < 100 || got.Dropped > 100+maxShadowCalls || got.Calls != 0 {
		t.Errorf("the shadow counts %+v", got)
	}
	if n := inside.Load(); n > maxShadowCalls {
		t.Errorf("%d calls are under way", n)
	}
	// Nobody waits for the calls that are under way.
	w.Trials.End(t.Context(), "one")
	w.wantFor(1, 1)
}

// TestShadowThatFails lets a candidate fail until it is quarantined.
func TestShadowThatFails(t *testing.T) {
	w := newWorld(t)
	w.settings.Quarantine.Enabled, w.settings.Quarantine.Failures = true, 3
	w.add("one", adding(1))
	candidate := w.try("one", Split{Percentage: 100, Shadow: true}, transforms(func(context.Context, *ClientRequest) (any, error) { return nil, errors.New("planted") }))
	for i := range int64(3) {
		w.wantFor(5, 1)
		w.counted("one", ShadowCounts{Calls: i + 1, Failed: i + 1})
	}
	w.wantFor(5, 1)
	w.counted("one", ShadowCounts{Calls: 3, Failed: 3, Dropped: 1})
	if !candidate.members[0].isDown() || w.Unavailable() != "" {
		t.Errorf("unavailable: %q", w.Unavailable())
	}
}

// TestShadowAnswersNobody asks for answers that only the candidate has.
func TestShadowAnswersNobody(t *testing.T) {
	w := newWorld(t)
	answers := func(answer any) map[*Method]func(context.Context, []any) (any, error) {
		return map[*Method]func(context.Context, []any) (any, error){
			Authenticate:        func(context.Context, []any) (any, error) { return answer, nil },
			CountActiveMeetings: func(context.Context, []any) (any, error) { return int32(1), nil },
		}
	}
	points := []*Point{UserAuthenticator, ConferenceServiceProvider}
	w.add("one", functions{class: "A", points: []*Point{UserAuthenticator}, calls: answers(nil)})
	w.try("one", Split{Percentage: 100, Shadow: true}, functions{class: "A", points: points, calls: answers(false)})
	if _, ok, err := Ask[bool](t.Context(), w.Calls, Authenticate, &UserLoginInfo{UserID: 1}); ok || err != nil {
		t.Error(ok, err)
	}
	w.counted("one", ShadowCounts{Calls: 1, Different: 1})
	if w.Calls.HasAny(ConferenceServiceProvider) || w.Calls.Has(CountActiveMeetings) || !w.Calls.Has(Authenticate) {
		t.Error("a shadow offers what its plugin does not")
	}
	if _, ok, err := Ask[int32](t.Context(), w.Calls, CountActiveMeetings, int64(1)); ok || err != nil {
		t.Error(ok, err)
	}
	w.counted("one", ShadowCounts{Calls: 2, Different: 2})
}

// TestShadowOfObservers tells a candidate what its plugin is told, and not of events.
func TestShadowOfObservers(t *testing.T) {
	w := newWorld(t)
	told := make(chan string, 100)
	observer := func(version string) functions {
		tell := func(_ context.Context, args []any) (any, error) {
			told <- fmt.Sprint(version, args[1:])
			return nil, nil
		}
		return functions{class: "O", points: []*Point{NotificationHandler, AdminActionHandler, DomainEventHandler}, calls: map[*Method]func(context.Context, []any) (any, error){
			HandleNotification: tell, HandleAdminAction: tell, HandleDomainEvents: tell,
		}}
	}
	w.add("one", observer("1"))
	w.try("one", Split{Percentage: 100, Shadow: true}, observer("2"))
	want := func(want ...string) {
		t.Helper()
		var got []string
		for range want {
			got = append(got, <-told)
		}
		if slices.Sort(got); !slices.Equal(got, want) {
			t.Errorf("told were %q, want %q", got, want)
		}
	}
	w.Calls.Tell(t.Context(), HandleNotification, nil, []int64{4, 5}, []int64{6})
	want("1[[4 5] [6]]", "2[[4 5] [6]]")
	w.Calls.Tell(t.Context(), HandleAdminAction, &AdminAction{})
	want("1[]", "2[]")
	w.Trials.Resplit("one", Split{UserIDs: []int64{5}})
	w.Calls.Tell(t.Context(), HandleNotification, nil, []int64{4, 5}, []int64{6})
	want("1[[4 5] [6]]", "2[[5] []]")
	w.Calls.Tell(t.Context(), HandleDomainEvents, []DomainEvent{})
	w.Calls.Tell(t.Context(), HandleNotification, nil, []int64{4}, []int64{})
	want("1[[4] []]", "1[]")
	w.counted("one", ShadowCounts{Calls: 3, Equal: 3})
}

// TestDuplicate changes a value after it was copied.
func TestDuplicate(t *testing.T) {
	name, date := "name", time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	request := &ClientRequest{UserID: 1, Request: &wire.AppRequest{RequestId: new(int64)}}
	action := &AdminAction{AdminID: &request.UserID, RequestTime: date, Params: map[string]any{"list": []any{"a", map[string]any{"x": "y"}}, "none": nil}}
	meeting := &Meeting{Name: &name, CreationDate: date}
	result := &RequestHandlerResult{Notifications: []Notification{{Recipients: []int64{1, 2}, Notification: &wire.AppRequest{}}}}
	for _, v := range []any{request, action, meeting, result, []StoredMessage{{Records: [][]byte{{1, 2}}}}, []int64{1}, "text", true, nil, (*Meeting)(nil), []byte(nil), map[string]string{"a": "b"}} {
		if got := duplicate(v); !reflect.DeepEqual(got, v) {
			t.Errorf("%#v became %#v", v, got)
		}
	}
	copied := duplicate(result).(*RequestHandlerResult)
	result.Notifications[0].Recipients[0] = 9
	result.Notifications[0].Notification.RequestId = new(int64)
	if n := copied.Notifications[0]; n.Recipients[0] != 1 || n.Notification.RequestId != nil {
		t.Errorf("the copy changed: %+v", n)
	}
	list := duplicate(action).(*AdminAction)
	action.Params["list"].([]any)[1].(map[string]any)["x"] = "z"
	if got := list.Params["list"].([]any)[1].(map[string]any)["x"]; got != "y" {
		t.Errorf("the copy changed: %v", got)
	}
}
