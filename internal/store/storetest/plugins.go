// SPDX-License-Identifier: Apache-2.0

package storetest

import (
	"bytes"
	"context"
	"errors"
	"reflect"
	"slices"
	"testing"
	"time"

	"example.org/app/internal/store"
)

func testPluginStorage(t *testing.T, db *store.DB) {
	ctx := t.Context()
	write := func(fn store.WriteFunc) error { return db.Write(ctx, fn) }
	put := func(plugin, name string, value []byte) {
		t.Helper()
		if err := write(func(ctx context.Context, tx store.Tx) error {
			return store.PutPluginValue(ctx, tx, plugin, name, value)
		}); err != nil {
			t.Fatal(err)
		}
	}
	put("a", "k", []byte("first"))
	put("a", "k", []byte{0, 1, 0xff})
	put("a", "Kb", nil)
	put("a", "k%", []byte("x"))
	put("a", "ä1", []byte("umlaut"))
	put("b", "k", []byte("other"))
	err := db.Read(ctx, func(ctx context.Context, r store.Reader) error {
		for name, want := range map[string][]byte{"k": {0, 1, 0xff}, "Kb": {}, "k%": []byte("x")} {
			if got, err := store.FindPluginValue(ctx, r, "a", name); err != nil || !bytes.Equal(got, want) {
				t.Errorf("%s: %q, %v", name, got, err)
			}
		}
		if _, err := store.FindPluginValue(ctx, r, "c", "k"); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("another plugin: %v", err)
		}
		for prefix, want := range map[string][]string{"": {"Kb", "k", "k%", "ä1"}, "k": {"k", "k%"}, "k%": {"k%"}, "_": {}, "ä": {"ä1"}} {
			if got, err := store.FindPluginNames(ctx, r, "a", prefix); err != nil || !slices.Equal(got, want) {
				t.Errorf("names with %q: %q, %v", prefix, got, err)
			}
		}
		if got, err := store.FindPluginStorageSize(ctx, r, "a", "k"); err != nil || got != (store.PluginStorageSize{Values: 3, Bytes: 7}) {
			t.Errorf("the size is %+v, %v", got, err)
		}
		if got, err := store.FindPluginStorageSize(ctx, r, "c", ""); err != nil || got != (store.PluginStorageSize{}) {
			t.Errorf("the size of nothing is %+v, %v", got, err)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []bool{true, false} {
		err := write(func(ctx context.Context, tx store.Tx) error {
			deleted, err := store.DeletePluginValue(ctx, tx, "a", "k")
			if deleted != want {
				t.Errorf("deleted %v, want %v", deleted, want)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

func testPluginGrants(t *testing.T, db *store.DB) {
	ctx := t.Context()
	now := time.Now().UTC().Truncate(time.Millisecond)
	a := store.PluginGrant{PluginID: "a", Permissions: []string{"USER_DELETE", "USER_QUERY"}, Hosts: []string{"*.example.org"}, Java: true, Revision: 1, AdminID: 7, ChangeDate: now}
	b := store.PluginGrant{PluginID: "b", Permissions: []string{}, Hosts: []string{}, Revision: 1, ChangeDate: now}
	put := func(g store.PluginGrant, exists bool) error {
		return db.Write(ctx, func(ctx context.Context, tx store.Tx) error { return store.PutPluginGrant(ctx, tx, g, exists) })
	}
	want := func(list ...store.PluginGrant) {
		t.Helper()
		err := db.Read(ctx, func(ctx context.Context, r store.Reader) error {
			found, err := store.FindPluginGrants(ctx, r)
			if err == nil && !reflect.DeepEqual(found, list) {
				t.Errorf("found %+v, want %+v", found, list)
			}
			one, err2 := store.FindPluginGrants(ctx, r, "b", "none")
			if err2 == nil && (len(one) != 1 || one[0].PluginID != "b") {
				t.Errorf("found %+v", one)
			}
			return errors.Join(err, err2)
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(put(b, false), put(a, false)); err != nil {
		t.Fatal(err)
	}
	want(a, b)
	if err := put(a, false); !errors.Is(err, store.ErrDuplicateKey) {
		t.Errorf("a second row: %v", err)
	}
	a.Permissions, a.Hosts, a.Java, a.Revision, a.AdminID, a.ChangeDate = []string{"USER_QUERY"}, []string{}, false, 2, 8, now.Add(time.Second)
	if err := put(a, true); err != nil {
		t.Fatal(err)
	}
	want(a, b)
}

func testClusterPlugins(t *testing.T, db *store.DB) {
	ctx := t.Context()
	now := time.Now().UTC().Truncate(time.Millisecond)
	write := func(want error, fn store.WriteFunc) {
		t.Helper()
		if err := db.Write(ctx, fn); !errors.Is(err, want) || want == nil && err != nil {
			t.Fatalf("the error is %v, want %v", err, want)
		}
	}
	version := func(number int64) store.PluginVersion {
		return store.PluginVersion{
			PluginID: "a", Number: number, Version: "1.0", Language: "JAVA", FileName: "a.jar", Digest: "d", Size: 5, Servers: []string{"SERVICE"}, AdminID: 7, UploadDate: now,
		}
	}
	insert := func(p store.ClusterPlugin) store.WriteFunc {
		return func(ctx context.Context, tx store.Tx) error { return store.InsertClusterPlugin(ctx, tx, p) }
	}
	a := store.ClusterPlugin{ID: "a", Number: 2, Status: "LOADED", Revision: 1, AdminID: 7, ChangeDate: now}
	write(nil, insert(a))
	write(store.ErrDuplicateKey, insert(a))
	write(nil, insert(store.ClusterPlugin{ID: "b", Number: 1, Status: "LOADED", Revision: 1, ChangeDate: now}))
	write(store.ErrForeignKey, func(ctx context.Context, tx store.Tx) error { return store.InsertPluginVersion(ctx, tx, version(1)) })
	write(nil, func(ctx context.Context, tx store.Tx) error {
		return errors.Join(
			store.PutPluginFile(ctx, tx, "d", 5, now), store.PutPluginFile(ctx, tx, "d", 5, now),
			store.PutPluginChunk(ctx, tx, "d", 0, []byte("xxx")), store.PutPluginChunk(ctx, tx, "d", 0, []byte{0, 1, 0xff}), store.PutPluginChunk(ctx, tx, "d", 1, []byte("yy")),
			store.InsertPluginVersion(ctx, tx, version(1)), store.InsertPluginVersion(ctx, tx, version(2)), store.InsertPluginVersion(ctx, tx, version(3)),
		)
	})
	write(store.ErrDuplicateKey, func(ctx context.Context, tx store.Tx) error { return store.InsertPluginVersion(ctx, tx, version(3)) })
	for _, want := range []bool{true, false} {
		write(nil, func(ctx context.Context, tx store.Tx) error {
			next := a
			next.Status, next.Revision = "STARTED", 2
			changed, err := store.UpdateClusterPlugin(ctx, tx, next)
			if changed != want {
				t.Errorf("changed %v, want %v", changed, want)
			}
			return err
		})
	}
	err := db.Read(ctx, func(ctx context.Context, r store.Reader) error {
		a.Place, a.Status, a.Revision = 1, "STARTED", 2
		if found, err := store.FindClusterPlugins(ctx, r); err != nil || len(found) != 2 || found[0] != a || found[1].Place != 2 {
			t.Errorf("plugins %+v, %v", found, err)
		}
		if found, err := store.FindPluginVersions(ctx, r, "a", "x"); err != nil || len(found) != 3 || !reflect.DeepEqual(found[0], version(3)) {
			t.Errorf("versions %+v, %v", found, err)
		}
		if found, err := store.FindActivePluginVersions(ctx, r); err != nil || len(found) != 1 || found[0].Number != 2 {
			t.Errorf("active versions %+v, %v", found, err)
		}
		if data, err := store.FindPluginChunk(ctx, r, "d", 0); err != nil || !bytes.Equal(data, []byte{0, 1, 0xff}) {
			t.Errorf("chunk %v, %v", data, err)
		}
		if _, err := store.FindPluginChunk(ctx, r, "d", 2); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("no chunk: %v", err)
		}
		if size, err := store.FindPluginFileSize(ctx, r, "d"); err != nil || size != 5 {
			t.Errorf("size %d, %v", size, err)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	count := func(want int64, fn func(context.Context, store.Tx) (int64, error)) {
		t.Helper()
		write(nil, func(ctx context.Context, tx store.Tx) error {
			n, err := fn(ctx, tx)
			if n != want {
				t.Errorf("%d rows, want %d", n, want)
			}
			return err
		})
	}
	count(1, func(ctx context.Context, tx store.Tx) (int64, error) {
		return store.DeletePluginVersions(ctx, tx, "a", 1, 2, 9)
	}) // 2 is active.
	count(0, func(ctx context.Context, tx store.Tx) (int64, error) { return store.DeletePluginVersions(ctx, tx, "a") })
	count(0, func(ctx context.Context, tx store.Tx) (int64, error) {
		return store.DeletePluginFiles(ctx, tx, now.Add(time.Hour))
	})
	for _, want := range []bool{true, false} {
		write(nil, func(ctx context.Context, tx store.Tx) error {
			found, err := store.DeleteClusterPlugin(ctx, tx, "a")
			if found != want {
				t.Errorf("found %v, want %v", found, want)
			}
			return err
		})
	}
	count(0, func(ctx context.Context, tx store.Tx) (int64, error) { return store.DeletePluginFiles(ctx, tx, now) })
	count(1, func(ctx context.Context, tx store.Tx) (int64, error) {
		return store.DeletePluginFiles(ctx, tx, now.Add(time.Hour))
	})
}

func testPluginRollouts(t *testing.T, db *store.DB) {
	ctx := t.Context()
	now := time.Now().UTC().Truncate(time.Millisecond)
	write := func(fn store.WriteFunc) {
		t.Helper()
		if err := db.Write(ctx, fn); err != nil {
			t.Fatal(err)
		}
	}
	rollout := func(plugin string) store.PluginRollout {
		return store.PluginRollout{
			PluginID: plugin, Number: 2, NodeIDs: []string{"n1", "n2"}, Mode: store.RolloutUsers, Percentage: 10, UserIDs: []int64{-1, 1 << 62}, Status: "RUNNING", MaxErrorPercentage: 5, MinCalls: 20, MaxLatencyPercentage: 150, MaxRefusalPercentage: 3, MaxDifferencePercentage: 4, PromoteAfterMillis: 1000,
			Steps:   []store.RolloutStep{{Percentage: 10, AfterMillis: 1000, StartDate: &now, Reason: "well"}, {Percentage: 20}},
			AdminID: 7, StartDate: now, StepDate: now,
		}
	}
	figures := &store.RolloutFigures{
		Nodes: 2, Candidate: store.RolloutUsage{Calls: 4, Failed: 3, Refused: 2, P99Micros: 1}, Active: store.RolloutUsage{Calls: 5},
		Shadow: &store.RolloutCopies{Calls: 6, Equal: 3, Different: 2, Failed: 1, Dropped: 7},
	}
	write(func(ctx context.Context, tx store.Tx) error {
		for _, id := range []string{"a", "b"} {
			if err := store.InsertClusterPlugin(ctx, tx, store.ClusterPlugin{ID: id, Number: 1, ChangeDate: now}); err != nil {
				return err
			}
		}
		for want, plugin := range []string{"a", "b", "a"} {
			id, err := store.InsertPluginRollout(ctx, tx, rollout(plugin))
			if err != nil || id != int64(want+1) {
				t.Errorf("rollout %d of %s: %v", id, plugin, err)
			}
		}
		ended := rollout("a")
		ended.ID, ended.Status, ended.Reason, ended.EndDate = 1, "ABORTED", "why", &now
		ended.Figures = figures
		ended.Percentage, ended.UserIDs, ended.PromoteAfterMillis, ended.Steps[1].StartDate = 20, nil, 0, &now
		return store.UpdatePluginRollout(ctx, tx, ended)
	})
	ids := func(list []store.PluginRollout, err error) (ids []int64) {
		t.Helper()
		if err != nil {
			t.Error(err)
		}
		for _, r := range list {
			ids = append(ids, r.ID)
		}
		return ids
	}
	err := db.Read(ctx, func(ctx context.Context, r store.Reader) error {
		if got := ids(store.FindPluginRollouts(ctx, r)); !slices.Equal(got, []int64{3, 2, 1}) {
			t.Errorf("all are %v", got)
		}
		if got := ids(store.FindPluginRollouts(ctx, r, "a", "x")); !slices.Equal(got, []int64{3, 1}) {
			t.Errorf("those of a are %v", got)
		}
		if got := ids(store.FindOpenPluginRollouts(ctx, r)); !slices.Equal(got, []int64{3, 2}) {
			t.Errorf("open are %v", got)
		}
		want := rollout("b")
		want.ID = 2
		if got, err := store.FindPluginRollout(ctx, r, 2); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%+v, %v", got, err)
		}
		if got, err := store.FindPluginRollout(ctx, r, 1); err != nil || got.Status != "ABORTED" || got.Reason != "why" || !got.EndDate.Equal(now) || got.Percentage != 20 || len(got.UserIDs) != 0 || got.PromoteAfterMillis != 0 || got.Step() != 1 || !reflect.DeepEqual(got.Figures, figures) {
			t.Errorf("%+v, %v", got, err)
		}
		if _, err := store.FindPluginRollout(ctx, r, 9); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("no rollout: %v", err)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	left := func(want []int64, fn store.WriteFunc) {
		t.Helper()
		write(fn)
		err := db.Read(ctx, func(ctx context.Context, r store.Reader) error {
			if got := ids(store.FindPluginRollouts(ctx, r)); !slices.Equal(got, want) {
				t.Errorf("left are %v, want %v", got, want)
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	left([]int64{3, 2, 1}, func(ctx context.Context, tx store.Tx) error { return store.DeletePluginRollouts(ctx, tx, "a", 2) })
	left([]int64{3, 2}, func(ctx context.Context, tx store.Tx) error { return store.DeletePluginRollouts(ctx, tx, "a", 1) })
	left([]int64{3, 2}, func(ctx context.Context, tx store.Tx) error { return store.DeletePluginRollouts(ctx, tx, "a", 0) }) // It is open.
	left([]int64{2}, func(ctx context.Context, tx store.Tx) error {
		_, err := store.DeleteClusterPlugin(ctx, tx, "a")
		return err
	})
}
