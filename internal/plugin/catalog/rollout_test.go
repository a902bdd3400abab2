// SPDX-License-Identifier: Apache-2.0

package catalog_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"example.org/app/internal/plugin"
	"example.org/app/internal/plugin/catalog"
	"example.org/app/internal/role"
	"example.org/app/internal/store"
	"example.org/app/internal/store/storetest"
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
		n.manager.Tell(t.Context(), plugin.HandleAdminAction, &plugin.AdminAction{Action: "x", Params: map[string]any{}})
	}
}

// ended waits until a rollout has ended, while the node is called.
func (n *node) ended(t *testing.T, id int64) store.PluginRollout {
	t.Helper()
	for end := time.Now().Add(2 * time.Minute); ; time.Sleep(5 * time.Millisecond) {
		n.tell(t, 1)
		list, err := n.Rollouts(t.Context())
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

// TestRollouts tries versions on one of two nodes: one that fails, one that does not start, and good ones.
func TestRollouts(t *testing.T) {
	onBothEngines(t, func(t *testing.T, db *store.DB) {
		a, b := newNode(t, db, role.Service), newNode(t, db, role.Service)
		a.live(t)
		b.live(t)
		a.mustPublish(t, false, script("one", "1", ""))
		do(t, a, "one", plugin.Start)
		b.wait(t, "one", "STARTED 1")
		roll := func(number int64, promoteAfter int64) store.PluginRollout {
			t.Helper()
			r, err := a.RollOut(t.Context(), store.PluginRollout{
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
			_, err := a.Decide(t.Context(), manual.ID, step, catalog.Change{})
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
				_, err := a.RollOut(t.Context(), store.PluginRollout{PluginID: "one", Number: 1, NodeIDs: []string{a.id}}, catalog.Change{})
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
		list, err := a.Rollouts(t.Context(), "one")
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
		if _, err := a.RollOut(t.Context(), tt.rollout, tt.change); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := a.Decide(t.Context(), 5, catalog.RolloutAbort, catalog.Change{}); err == nil || !strings.Contains(err.Error(), "there is no rollout 5") {
		t.Errorf("%v", err)
	}
	_, errs := a.Publish(t.Context(), catalog.Publication{Uploads: []plugin.Upload{{Language: plugin.JavaScript, Data: script("two", "1", "")}}, Inactive: true})
	if errs == nil || !strings.Contains(errs[0].Error(), "its first version must be active") {
		t.Errorf("%v", errs)
	}
	if list, err := a.Rollouts(t.Context()); err != nil || len(list) != 0 {
		t.Errorf("%+v, %v", list, err)
	}
}
