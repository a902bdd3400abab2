// SPDX-License-Identifier: Apache-2.0

package catalog_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
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

// live lets a node follow and judge until the test ends.
func (n *node) live(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- n.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}

// keep adds a version without making it active.
func (n *node) keep(t *testing.T, code []byte) int64 {
	t.Helper()
	published, errs := n.Publish(t.Context(), catalog.Publication{
		Uploads: []plugin.Upload{{Language: plugin.JavaScript, Data: code}}, Replace: true, Inactive: true,
	})
	if errs != nil {
		t.Fatal(errs)
	}
	return published[0].Number
}

// tell calls the extensions of a node.
func (n *node) tell(t *testing.T, times int) {
	for range times {
		n.manager.Calls.Tell(t.Context(), plugin.HandleAdminAction, &plugin.AdminAction{Action: "x", Params: map[string]any{}})
	}
}

// ended waits until a rollout has ended, while the node is called.
func (n *node) ended(t *testing.T, id int64) store.PluginRollout {
	t.Helper()
	for end := time.Now().Add(2 * time.Minute); ; time.Sleep(5 * time.Millisecond) {
		n.tell(t, 1)
		list, err := n.Rollouts.Find(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range list {
			if r.ID == id && r.EndDate != nil {
				return r
			}
		}
		if time.Now().After(end) {
			t.Fatalf("rollout %d does not end: %+v", id, list)
		}
	}
}

// TestRollouts tries versions on one of two nodes: one that fails, one that does not start, and
// good ones.
func TestRollouts(t *testing.T) {
	need.Time(t)
	onBothEngines(t, func(t *testing.T, db *store.DB) {
		a, b := newNode(t, db, role.Service), newNode(t, db, role.Service)
		a.live(t)
		b.live(t)
		a.mustPublish(t, false, script("one", "1", ""))
		do(t, a, "one", plugin.Start)
		b.wait(t, "one", "STARTED 1")
		roll := func(number int64, promoteAfter int64) store.PluginRollout {
			t.Helper()
			r, err := a.Rollouts.Begin(t.Context(), store.PluginRollout{
				PluginID: "one", Number: number, NodeIDs: []string{b.id}, MaxErrorPercentage: 10, MinCalls: 5, PromoteAfterMillis: promoteAfter,
			}, catalog.Change{AdminID: 7})
			if err != nil {
				t.Fatal(err)
			}
			return r
		}
		want := func(r store.PluginRollout, status, reason string) {
			t.Helper()
			if r.Status != status || !strings.Contains(r.Reason, reason) {
				t.Errorf("rollout %+v, want %s %q", r, status, reason)
			}
		}

		// Calls of the new version fail.
		failing := roll(a.keep(t, script("one", "2", "handleAdminAction() { throw new Error('no'); }")), 0)
		b.wait(t, "one", "STARTED 2")
		if a.state("one") != "STARTED 1" {
			t.Errorf("the other node is %q", a.state("one"))
		}
		want(b.ended(t, failing.ID), catalog.RolloutRolledBack, "node "+b.id+": ")
		b.wait(t, "one", "STARTED 1")

		// It cannot be started at all.
		lazy := roll(a.keep(t, script("one", "3", "start() { throw new Error('no database'); }")), 0)
		want(b.ended(t, lazy.ID), catalog.RolloutRolledBack, "no database")
		b.wait(t, "one", "STARTED 1")
		if _, err := a.RemoveVersions(t.Context(), "one", 2, 3); err != nil {
			t.Fatal(err)
		}

		// A good one is promoted by time, when it was called often enough.
		good := roll(a.keep(t, script("one", "4", "")), 1)
		b.wait(t, "one", "STARTED 2") // The numbers are those of what is kept.
		want(b.ended(t, good.ID), catalog.RolloutPromoted, "0 of ")
		a.wait(t, "one", "STARTED 2")

		// An administrator leads another one.
		manual := roll(a.keep(t, script("one", "5", "")), 1)
		decide := func(step, refusal string) {
			t.Helper()
			_, err := a.Rollouts.Decide(t.Context(), manual.ID, step, catalog.Change{})
			if refusal == "" && err != nil || refusal != "" && (err == nil || !strings.Contains(err.Error(), refusal)) {
				t.Errorf("%s: %v", step, err)
			}
		}
		decide(catalog.RolloutResume, "is not possible: the rollout is RUNNING")
		decide(catalog.RolloutPause, "")
		b.wait(t, "one", "STARTED 3")
		b.tell(t, 50)
		for what, try := range map[string]func() error{
			"activate": func() error { _, err := a.Activate(t.Context(), "one", 1, catalog.Change{}); return err },
			"publish":  func() error { _, err := a.publish(t, true, script("one", "6", "")); return err },
			"remove":   func() error { _, err := a.RemoveVersions(t.Context(), "one", 1); return err },
			"roll out": func() error {
				_, err := a.Rollouts.Begin(t.Context(), store.PluginRollout{PluginID: "one", Number: 1, NodeIDs: []string{a.id}}, catalog.Change{})
				return err
			},
		} {
			if err := try(); err == nil || !strings.Contains(err.Error(), `of plugin "one" is PAUSED: promote or abort it first`) {
				t.Errorf("%s during a rollout: %v", what, err)
			}
		}
		decide(catalog.RolloutAbort, "")
		decide(catalog.RolloutPromote, "is not possible: the rollout is ABORTED")
		b.wait(t, "one", "STARTED 2")
		list, err := a.Rollouts.Find(t.Context(), "one")
		if err != nil || len(list) != 4 || list[0].Status != catalog.RolloutAborted || list[0].AdminID != 7 {
			t.Errorf("%+v, %v", list, err)
		}
	})
}

// TestRefusedRollouts asks for rollouts that make no sense.
func TestRefusedRollouts(t *testing.T) {
	db := storetest.SQLite(t)
	a := newNode(t, db, role.Service)
	a.mustPublish(t, false, script("one", "1", ""))
	a.keep(t, script("one", "2", ""))
	revision := int64(7)
	for name, tt := range map[string]struct {
		rollout store.PluginRollout
		change  catalog.Change
		want    string
	}{
		"plugin":   {store.PluginRollout{PluginID: "x", Number: 1}, catalog.Change{}, `the cluster has no plugin "x"`},
		"version":  {store.PluginRollout{PluginID: "one", Number: 9}, catalog.Change{}, "has no version 9"},
		"active":   {store.PluginRollout{PluginID: "one", Number: 1}, catalog.Change{}, "is active already"},
		"revision": {store.PluginRollout{PluginID: "one", Number: 2}, catalog.Change{IfRevision: &revision}, "somebody changed it meanwhile"},
	} {
		if _, err := a.Rollouts.Begin(t.Context(), tt.rollout, tt.change); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := a.Rollouts.Decide(t.Context(), 5, catalog.RolloutAbort, catalog.Change{}); err == nil || !strings.Contains(err.Error(), "there is no rollout 5") {
		t.Errorf("%v", err)
	}
	_, errs := a.Publish(t.Context(), catalog.Publication{Uploads: []plugin.Upload{{Language: plugin.JavaScript, Data: script("two", "1", "")}}, Inactive: true})
	if errs == nil || !strings.Contains(errs[0].Error(), "its first version must be active") {
		t.Errorf("%v", errs)
	}
	if list, err := a.Rollouts.Find(t.Context()); err != nil || len(list) != 0 {
		t.Errorf("%+v, %v", list, err)
	}
}

// answering is a version of a plugin that answers requests with its version; more are further
// members of its class.
func answering(version, more string) []byte {
	return fmt.Appendf(nil, `
class Answer extends AppExtension {
  getExtensionPoints() { return ['ClientRequestHandler']; }
  transform(request) { request.clientIp = %q; return request; }
  %s
}
export default class extends AppPlugin {
  getDescriptor() { return {id: 'split', version: %q}; }
  getExtensions() { return [Answer]; }
}`, version, more, version)
}

// versionFor is the version that answers a user on a node; "!" if it fails.
func (n *node) versionFor(t *testing.T, user int64) string {
	r, err := plugin.Pass(t.Context(), n.manager.Calls, plugin.TransformRequest, &plugin.ClientRequest{UserID: user, Request: &wire.AppRequest{}})
	if err != nil {
		return "!"
	}
	return r.ClientIP
}

// serves waits until a node answers the users 0, 1, … as wanted.
func (n *node) serves(t *testing.T, want string) {
	t.Helper()
	var got string
	for end := time.Now().Add(2 * time.Minute); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		if err := n.Refresh(t.Context()); err != nil {
			t.Fatal(err)
		}
		got = ""
		for user := range want {
			got += n.versionFor(t, int64(user))
		}
		if got == want {
			return
		}
	}
	t.Fatalf("node %s answers with %s, want %s", n.id, got, want)
}

// splitPair is a cluster of two nodes with version 1 of the plugin "split"; more are further
// members of its class.
func splitPair(t *testing.T, db *store.DB, more string) (a, b *node) {
	t.Helper()
	a, b = newNode(t, db, role.Service), newNode(t, db, role.Service)
	together(a, b)
	a.live(t)
	b.live(t)
	a.mustPublish(t, false, answering("1", more))
	do(t, a, "split", plugin.Start)
	b.serves(t, "111")
	return a, b
}

// TestSplits runs versions beside the active one for some users.
func TestSplits(t *testing.T) {
	need.Time(t)
	onBothEngines(t, func(t *testing.T, db *store.DB) {
		a, b := splitPair(t, db, "")
		roll := func(code []byte, r store.PluginRollout) store.PluginRollout {
			t.Helper()
			r.PluginID, r.Number, r.Mode, r.MaxErrorPercentage, r.MinCalls = "split", a.keep(t, code), store.RolloutUsers, 10, 5
			r, err := a.Rollouts.Begin(t.Context(), r, catalog.Change{AdminID: 7})
			if err != nil {
				t.Fatal(err)
			}
			return r
		}
		decide := func(r store.PluginRollout, step string) {
			t.Helper()
			if _, err := a.Rollouts.Decide(t.Context(), r.ID, step, catalog.Change{}); err != nil {
				t.Fatal(err)
			}
		}
		forget := func() {
			t.Helper()
			if _, err := a.RemoveVersions(t.Context(), "split", 2); err != nil {
				t.Fatal(err)
			}
		}
		ended := func(r store.PluginRollout, reason string, call func()) {
			t.Helper()
			for end := time.Now().Add(2 * time.Minute); ; time.Sleep(5 * time.Millisecond) {
				call()
				list, err := a.Rollouts.Find(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				if got := list[0]; got.ID == r.ID && got.EndDate != nil {
					if got.Status != catalog.RolloutRolledBack || !strings.Contains(got.Reason, reason) {
						t.Errorf("%+v, want it rolled back: %s", got, reason)
					}
					return
				}
				if time.Now().After(end) {
					t.Fatalf("rollout %d does not end", r.ID)
				}
			}
		}

		// On all nodes, then with other users, paused and resumed with the plugin, then not at all.
		r := roll(answering("2", ""), store.PluginRollout{UserIDs: []int64{1}})
		a.serves(t, "121")
		b.serves(t, "121")
		if s := a.States()[0]; s.Number != 1 || s.Candidate == nil || s.Candidate.Number != 2 || s.Candidate.Usage.Calls == 0 {
			t.Errorf("the state is %+v", s)
		}
		percentage := int32(100)
		if _, err := a.Rollouts.Resplit(t.Context(), r.ID, &percentage, nil); err != nil {
			t.Fatal(err)
		}
		a.serves(t, "222")
		b.serves(t, "222")
		do(t, b, "split", plugin.Pause)
		a.wait(t, "split", "PAUSED 1")
		if _, _, ok := b.manager.Trials.Find("split"); ok {
			t.Error("a candidate runs beside a plugin that is paused")
		}
		do(t, b, "split", plugin.Resume)
		a.serves(t, "222")
		// A node that starts later has it too.
		c := newNode(t, db, role.Service)
		if err := c.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		c.serves(t, "222")
		decide(r, catalog.RolloutAbort)
		a.serves(t, "111")
		b.serves(t, "111")
		forget()

		// On one node only; promoted, it is the same candidate that goes on.
		r = roll(answering("3", ""), store.PluginRollout{NodeIDs: []string{b.id}, Percentage: 100})
		b.serves(t, "333")
		a.serves(t, "111")
		candidate, _, _ := b.manager.Trials.Find("split")
		decide(r, catalog.RolloutPromote)
		a.serves(t, "333")
		b.wait(t, "split", "STARTED 2")
		if p, ok := b.manager.Find("split"); !ok || p != candidate {
			t.Error("the version was loaded once more")
		}
		if _, err := a.Activate(t.Context(), "split", 1, catalog.Change{}); err != nil {
			t.Fatal(err)
		}
		forget()

		// A planted bug is rolled back, and users who are not of the candidate never notice.
		r = roll(answering("4", "handle() { throw new Error('planted'); }"), store.PluginRollout{UserIDs: []int64{1}})
		ended(r, "calls failed, more than 10 %", func() {
			for user := range int64(3) {
				_, _, err := plugin.Ask[*plugin.RequestHandlerResult](t.Context(), b.manager.Calls, plugin.HandleRequest, &plugin.ClientRequest{UserID: user, Request: &wire.AppRequest{}})
				if user != 1 && err != nil {
					t.Fatalf("a call of user %d failed: %v", user, err)
				}
			}
		})
		b.serves(t, "111")
		forget()

		// One that cannot be started never gets a call.
		r = roll(answering("5", "start() { throw new Error('no database'); }"), store.PluginRollout{Percentage: 100})
		ended(r, "no database", func() {
			if got := b.versionFor(t, 1); got != "1" {
				t.Fatalf("user 1 gets %q", got)
			}
		})
		a.wait(t, "split", "STARTED 1")
		forget()

		// A node with a plugin of its own keeps that to itself.
		r = roll(answering("6", ""), store.PluginRollout{Percentage: 100})
		b.serves(t, "666")
		if err := os.WriteFile(filepath.Join(b.folder.Dir(), "split.js"), answering("9", ""), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := b.folder.Load(t.Context(), false); err != nil {
			t.Fatal(err)
		}
		b.serves(t, "999")
		a.serves(t, "666")
		decide(r, catalog.RolloutAbort)
	})
}

// TestPromotedShadow promotes shadows. When the decision is answered, the process runs the version
// alone, although it took two steps: the version took over and the shadow ended.
func TestPromotedShadow(t *testing.T) {
	a, _ := splitPair(t, storetest.SQLite(t), "")
	numbers := []int64{a.keep(t, answering("2", "")), 1}
	for i := range 20 {
		number := numbers[i%2]
		r, err := a.Rollouts.Begin(t.Context(), store.PluginRollout{
			PluginID: "split", Number: number, Mode: store.RolloutShadow, Percentage: 100, MaxErrorPercentage: 10, MaxDifferencePercentage: -1, MinCalls: 5,
		}, catalog.Change{AdminID: 7})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := a.Rollouts.Decide(t.Context(), r.ID, catalog.RolloutPromote, catalog.Change{}); err != nil {
			t.Fatal(err)
		}
		if s := a.States()[0]; s.State != "STARTED" || s.Number != number || s.Candidate != nil {
			t.Fatalf("after round %d the state is %+v", i, s)
		}
	}
}

// TestShadows runs versions on copies of calls: nobody gets their answers, differences are counted,
// and they are promoted or rolled back like others.
func TestShadows(t *testing.T) {
	need.Time(t)
	onBothEngines(t, func(t *testing.T, db *store.DB) {
		a, b := splitPair(t, db, "")
		roll := func(code []byte, r store.PluginRollout) store.PluginRollout {
			t.Helper()
			r.PluginID, r.Number, r.Mode, r.Percentage, r.MaxErrorPercentage, r.MaxDifferencePercentage, r.MinCalls = "split", a.keep(t, code), store.RolloutShadow, 100, 10, -1, 5
			r, err := a.Rollouts.Begin(t.Context(), r, catalog.Change{AdminID: 7})
			if err != nil {
				t.Fatal(err)
			}
			return r
		}
		// served lets users be served on both nodes until something holds of the copies on a node.
		served := func(n *node, holds func(s catalog.State) bool) {
			t.Helper()
			for end := time.Now().Add(2 * time.Minute); ; time.Sleep(time.Millisecond) {
				for _, n := range []*node{a, b} {
					if got := n.versionFor(t, 1); got != "1" {
						t.Fatalf("user 1 gets %q", got)
					}
				}
				if holds(n.States()[0]) {
					return
				}
				if time.Now().After(end) {
					t.Fatalf("the state is %+v", n.States()[0])
				}
			}
		}
		// On all nodes, then on none.
		r := roll(answering("2", ""), store.PluginRollout{})
		for _, n := range []*node{a, b} {
			served(n, func(s catalog.State) bool {
				c := s.Candidate
				return s.Number == 1 && c != nil && c.Number == 2 && c.Shadow != nil && c.Shadow.Different > 10 && c.Shadow.Equal+c.Shadow.Failed == 0 && c.Usage.Calls > 10
			})
		}
		if _, err := a.Rollouts.Decide(t.Context(), r.ID, catalog.RolloutAbort, catalog.Change{}); err != nil {
			t.Fatal(err)
		}
		served(b, func(s catalog.State) bool { return s.Candidate == nil && s.State == "STARTED" })

		// The same version as a candidate for users is another one.
		r.Mode, r.Percentage, r.UserIDs = store.RolloutUsers, 0, []int64{2}
		r, err := a.Rollouts.Begin(t.Context(), r, catalog.Change{})
		if err != nil {
			t.Fatal(err)
		}
		b.serves(t, "112")
		if _, err := a.Rollouts.Decide(t.Context(), r.ID, catalog.RolloutAbort, catalog.Change{}); err != nil {
			t.Fatal(err)
		}
		b.serves(t, "111")

		// One that fails is rolled back.
		r = roll(answering("3", "handle() { throw new Error('planted'); }"), store.PluginRollout{NodeIDs: []string{b.id}})
		for end := time.Now().Add(2 * time.Minute); r.EndDate == nil; time.Sleep(time.Millisecond) {
			if _, ok, err := plugin.Ask[*plugin.RequestHandlerResult](t.Context(), b.manager.Calls, plugin.HandleRequest, &plugin.ClientRequest{UserID: 1, Request: &wire.AppRequest{}}); ok || err != nil {
				t.Fatalf("a call is answered by the candidate: %v, %v", ok, err)
			}
			list, err := a.Rollouts.Find(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if r = list[0]; time.Now().After(end) {
				t.Fatalf("the rollout does not end: %+v", b.States())
			}
		}
		if r.Status != catalog.RolloutRolledBack || !strings.Contains(r.Reason, "calls failed, more than 10 %") {
			t.Errorf("the rollout is %s: %s", r.Status, r.Reason)
		}

		// Promoted, the version is loaded anew: the shadow could not do everything.
		if _, err := a.RemoveVersions(t.Context(), "split", 2, 3); err != nil {
			t.Fatal(err)
		}
		r = roll(answering("4", ""), store.PluginRollout{})
		served(b, func(s catalog.State) bool { return s.Candidate != nil })
		candidate, _, _ := b.manager.Trials.Find("split")
		if _, err := a.Rollouts.Decide(t.Context(), r.ID, catalog.RolloutPromote, catalog.Change{}); err != nil {
			t.Fatal(err)
		}
		a.serves(t, "444")
		b.serves(t, "444")
		b.wait(t, "split", "STARTED 2")
		if p, ok := b.manager.Find("split"); !ok || p == candidate {
			t.Error("the shadow took the place of the active version")
		}
	})
}

// TestSteps brings a version to more and more users: a good one to all, one that fails from the
// second step on to nobody.
func TestSteps(t *testing.T) {
	need.Time(t)
	onBothEngines(t, func(t *testing.T, db *store.DB) {
		a, b := splitPair(t, db, "")
		roll := func(code []byte, steps ...store.RolloutStep) store.PluginRollout {
			t.Helper()
			r, err := a.Rollouts.Begin(t.Context(), store.PluginRollout{
				PluginID: "split", Number: a.keep(t, code), Mode: store.RolloutUsers, UserIDs: []int64{1}, MaxErrorPercentage: 10, MaxRefusalPercentage: -1, MinCalls: 5, Steps: steps,
			}, catalog.Change{AdminID: 7})
			if err != nil {
				t.Fatal(err)
			}
			return r
		}
		// until calls both nodes until the rollout is where it should be.
		until := func(what string, is func(store.PluginRollout) bool) (r store.PluginRollout) {
			t.Helper()
			for end := time.Now().Add(2 * time.Minute); ; time.Sleep(5 * time.Millisecond) {
				for user := range int64(3) {
					for _, n := range []*node{a, b} {
						_, _, _ = plugin.Ask[*plugin.RequestHandlerResult](t.Context(), n.manager.Calls, plugin.HandleRequest, &plugin.ClientRequest{UserID: user, Request: &wire.AppRequest{}})
					}
				}
				list, err := a.Rollouts.Find(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				if r = list[0]; is(r) {
					return r
				}
				if time.Now().After(end) {
					t.Fatalf("%s: the rollout is %+v", what, r)
				}
			}
		}

		// The first step ends by itself, the second one by hand, and after the last one the version
		// is promoted. Both nodes judge, and no step is left out.
		r := roll(answering("2", "handle() {}"), store.RolloutStep{AfterMillis: 1}, store.RolloutStep{Percentage: 50}, store.RolloutStep{Percentage: 100, AfterMillis: 1})
		if r.Percentage != 0 || r.PromoteAfterMillis != 1 || r.Step() != 0 {
			t.Errorf("it begins with %+v", r)
		}
		r = until("the second step", func(r store.PluginRollout) bool { return r.Step() > 0 })
		if r.Step() != 1 || r.Percentage != 50 || r.PromoteAfterMillis != 0 || r.Status != catalog.RolloutRunning || !strings.Contains(r.Steps[0].Reason, "0 of ") {
			t.Errorf("the second step is %+v", r)
		}
		if _, err := b.Rollouts.Decide(t.Context(), r.ID, catalog.RolloutNext, catalog.Change{}); err != nil {
			t.Fatal(err)
		}
		r = until("the end", func(r store.PluginRollout) bool { return r.EndDate != nil })
		if r.Status != catalog.RolloutPromoted || r.Percentage != 100 || r.Step() != 2 || r.Steps[1].Reason != "" || r.Steps[2].StartDate.Before(*r.Steps[1].StartDate) {
			t.Errorf("the end is %+v", r)
		}
		a.serves(t, "222")
		b.serves(t, "222")

		// It fails for user 2, who is not in the first step.
		r = roll(answering("3", "handle(request) { if (request.userId == 2) throw new Error('planted'); }"), store.RolloutStep{AfterMillis: 1}, store.RolloutStep{Percentage: 100})
		r = until("the roll-back", func(r store.PluginRollout) bool { return r.EndDate != nil })
		if r.Status != catalog.RolloutRolledBack || r.Step() != 1 || !strings.Contains(r.Reason, "calls failed, more than 10 %") {
			t.Errorf("it ends with %+v", r)
		}
		a.serves(t, "222")
		b.serves(t, "222")
	})
}
