// SPDX-License-Identifier: Apache-2.0

package catalog_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"example.org/app/internal/plugin"
	"example.org/app/internal/plugin/catalog"
	"example.org/app/internal/role"
	"example.org/app/internal/store"
	"example.org/app/internal/store/storetest"
	"example.org/app/internal/wire"
	"example.org/app/test/need"
)

// ask lets the extensions of a node handle a request of a user.
func (n *node) ask(t *testing.T, user int64) {
	_, _, _ = plugin.Ask[*plugin.RequestHandlerResult](t.Context(), n.manager.Calls, plugin.HandleRequest, &plugin.ClientRequest{UserID: user, Request: &wire.AppRequest{}})
}

// over waits until the newest rollout has ended, and does something meanwhile.
func (n *node) over(t *testing.T, meanwhile func()) store.PluginRollout {
	t.Helper()
	for end := time.Now().Add(2 * time.Minute); ; time.Sleep(time.Millisecond) {
		meanwhile()
		list, err := n.Rollouts.Find(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if list[0].EndDate != nil {
			return list[0]
		}
		if time.Now().After(end) {
			t.Fatalf("the rollout %+v does not end: %+v", list[0], n.gather(t.Context()))
		}
	}
}

// TestJudgement lets candidates do worse than the active version, each in its own way, after they
// did well.
func TestJudgement(t *testing.T) {
	need.Time(t)
	const bad = `
  static calls = 0;
  async handle(request) {
    if (++Answer.calls <= 10) return;
    %s
  }`
	db := storetest.SQLite(t)
	a := newNode(t, db, role.Service)
	a.live(t)
	// The active version fails and refuses now and then, too.
	a.mustPublish(t, false, answering("1", `
  static calls = 0;
  handle() {
    switch (++Answer.calls % 10) {
    case 1: throw new Error('as ever');
    case 2: throw new AppError(5010, 'as ever');
    }
  }`))
	do(t, a, "split", plugin.Start)
	for _, tt := range []struct{ name, code, status, reason string }{
		{"errors", "throw new Error('planted');", catalog.RolloutRolledBack, "calls failed, more than 20 % above the "},
		{"refusals", "throw new AppError(5010, 'planted');", catalog.RolloutRolledBack, "calls were refused, more than 20 % above the "},
		{"latency", "await new Promise(resolve => setTimeout(resolve, 500));", catalog.RolloutRolledBack, "more than 150 % of the "},
		{"nothing", "if (Answer.calls % 10 === 1) throw new Error('as ever');", catalog.RolloutPromoted, "calls failed and 0 were refused, of the active version "},
	} {
		r := store.PluginRollout{
			PluginID: "split", Number: a.keep(t, answering(tt.name, fmt.Sprintf(bad, tt.code))), Mode: store.RolloutUsers, UserIDs: []int64{1},
			MaxErrorPercentage: 20, MaxRefusalPercentage: 20, MinCalls: 20,
		}
		switch tt.name {
		case "latency":
			r.MaxLatencyPercentage = 150
		case "nothing":
			r.PromoteAfterMillis = 1
		}
		r, err := a.Rollouts.Begin(t.Context(), r, catalog.Change{AdminID: 7})
		if err != nil {
			t.Fatal(err)
		}
		r = a.over(t, func() {
			a.ask(t, 0)
			a.ask(t, 1)
		})
		if r.Status != tt.status || !strings.Contains(r.Reason, tt.reason) {
			t.Errorf("%s: %s %q, want %s %q", tt.name, r.Status, r.Reason, tt.status, tt.reason)
		}
		if r.Status == catalog.RolloutPromoted {
			continue
		}
		a.serves(t, "11")
		if _, err := a.RemoveVersions(t.Context(), "split", r.Number); err != nil {
			t.Fatal(err)
		}
	}
}

// TestJudgementOverNodes lets two nodes have too few calls each to judge a candidate.
func TestJudgementOverNodes(t *testing.T) {
	need.Time(t)
	db := storetest.SQLite(t)
	a, b := splitPair(t, db, "handle() {}")
	// roll begins a rollout and waits until both nodes run the version.
	roll := func(code string, r store.PluginRollout) {
		t.Helper()
		r.PluginID, r.Number, r.MaxErrorPercentage, r.MinCalls = "split", a.keep(t, answering("2", code)), 10, 30
		r.MaxRefusalPercentage, r.MaxDifferencePercentage = -1, -1
		r, err := a.Rollouts.Begin(t.Context(), r, catalog.Change{})
		if err != nil {
			t.Fatal(err)
		}
		runs := func(e catalog.Evidence) bool { return e.RolloutID == r.ID && e.Runs }
		for end := time.Now().Add(2 * time.Minute); !slices.ContainsFunc(a.Rollouts.Evidence(), runs) || !slices.ContainsFunc(b.Rollouts.Evidence(), runs); time.Sleep(time.Millisecond) {
			if time.Now().After(end) {
				t.Fatalf("the nodes do not run the version: %+v, %+v", a.States(), b.States())
			}
		}
	}
	calls := func(n *node, times int) {
		for range times {
			n.ask(t, 1)
		}
	}
	wait := func() {}
	want := func(r store.PluginRollout, status, reason string, processes int, calls, failed int64) {
		t.Helper()
		if r.Status != status || r.Reason != reason {
			t.Errorf("the rollout is %s, %q", r.Status, r.Reason)
		}
		if f := r.Figures; f == nil || f.Nodes != processes || f.Candidate.Calls != calls || f.Candidate.Failed != failed {
			t.Errorf("the figures are %+v", f)
		}
	}
	users := store.PluginRollout{Mode: store.RolloutUsers, UserIDs: []int64{1}}

	roll("handle() { throw new Error('planted'); }", users)
	calls(a, 20)
	calls(b, 20)
	want(a.over(t, wait), catalog.RolloutRolledBack, "2 nodes together: in the last 10s 40 of 40 calls failed, more than 10 % above the 0 of 0 of the active version", 2, 40, 40)
	b.serves(t, "111")

	// One node has seen enough good calls, and the other one bad ones.
	users.PromoteAfterMillis = 1
	roll("static calls = 0; handle() { if (++Answer.calls > 5) throw new Error('planted'); }", users)
	b.lost.Store(true) // The leader must not promote by what it sees alone.
	calls(b, 20)
	calls(a, 5)
	time.Sleep(2 * time.Second)
	if r, err := a.Rollouts.Find(t.Context()); err != nil || r[0].Status != catalog.RolloutRunning {
		t.Errorf("the rollout is %+v, %v", r, err)
	}
	b.lost.Store(false)
	calls(a, 5)
	want(a.over(t, wait), catalog.RolloutRolledBack, "2 nodes together: in the last 10s 20 of 30 calls failed, more than 10 % above the 0 of 0 of the active version", 2, 30, 20)
	if _, err := a.RemoveVersions(t.Context(), "split", 2, 3); err != nil {
		t.Fatal(err)
	}

	// Both together have seen enough good ones.
	roll("handle() {}", users)
	calls(a, 15)
	calls(b, 15)
	want(a.over(t, wait), catalog.RolloutPromoted, "2 nodes together: 0 of 30 calls failed and 0 were refused, of the active version 0 of 0 and 0", 2, 30, 0)
	b.serves(t, "222")

	// What runs instead of the active version is judged alike.
	nodes := store.PluginRollout{NodeIDs: []string{a.id, b.id}}
	roll("handle() { throw new Error('planted'); }", nodes)
	calls(a, 20)
	calls(b, 20)
	want(a.over(t, wait), catalog.RolloutRolledBack, "2 nodes together: in the last 10s 40 of 40 calls failed, more than 10 %", 2, 40, 40)
}

// TestConditionsOfShadows lets shadows do worse than the active version, each in its own way, and
// one as well.
func TestConditionsOfShadows(t *testing.T) {
	need.Time(t)
	db := storetest.SQLite(t)
	a := newNode(t, db, role.Service)
	a.live(t)
	a.mustPublish(t, false, answering("1", "handle() {}"))
	do(t, a, "split", plugin.Start)
	for _, tt := range []struct{ name, code, status, reason string }{
		{"differences", "handle() { return {code: 1000}; }", catalog.RolloutRolledBack, "copies of calls ended otherwise than on the active version, more than 20 %"},
		{"refusals", "handle() { throw new AppError(5010, 'planted'); }", catalog.RolloutRolledBack, "calls were refused, more than 20 % above the "},
		{"latency", "async handle() { await new Promise(resolve => setTimeout(resolve, 500)); }", catalog.RolloutRolledBack, "more than 150 % of the "},
		{"nothing", "handle() {}", catalog.RolloutPromoted, "calls failed and 0 were refused, of the active version "},
	} {
		r := store.PluginRollout{
			PluginID: "split", Number: a.keep(t, answering(tt.name[:1], tt.code)), Mode: store.RolloutShadow, Percentage: 100,
			MaxErrorPercentage: 20, MaxRefusalPercentage: -1, MaxDifferencePercentage: -1, MinCalls: 20,
		}
		switch tt.name {
		case "differences":
			r.MaxDifferencePercentage = 20
		case "refusals":
			r.MaxRefusalPercentage = 20
		case "latency":
			r.MaxLatencyPercentage = 150
		case "nothing":
			r.PromoteAfterMillis = 1
		}
		begun, err := a.Rollouts.Begin(t.Context(), r, catalog.Change{})
		if err != nil {
			t.Fatal(err)
		}
		ended := a.over(t, func() { a.ask(t, 1) })
		if ended.Status != tt.status || !strings.Contains(ended.Reason, tt.reason) {
			t.Errorf("%s: %s %q, want %s %q", tt.name, ended.Status, ended.Reason, tt.status, tt.reason)
		}
		if f := ended.Figures; f == nil || f.Shadow == nil || f.Shadow.Calls < 20 || f.Active.Calls < 20 {
			t.Errorf("%s: the figures are %+v", tt.name, f)
		}
		last, isLast, err := a.Rollouts.Shadow(t.Context(), begun.ID)
		if err != nil || !isLast || last.Number != r.Number {
			t.Errorf("%s: %+v is the last shadow: %t, %v", tt.name, last, isLast, err)
		}
		a.serves(t, map[bool]string{true: "nn", false: "11"}[tt.status == catalog.RolloutPromoted])
		number, samples := a.manager.Trials.ShadowSamples("split")
		if wants := tt.name == "differences" || tt.name == "refusals"; number != r.Number || wants && len(samples) == 0 {
			t.Errorf("%s: %d samples of version %d are left", tt.name, len(samples), number)
		}
		if tt.status == catalog.RolloutRolledBack {
			if _, err := a.RemoveVersions(t.Context(), "split", r.Number); err != nil {
				t.Fatal(err)
			}
		}
	}
}
