// SPDX-License-Identifier: Apache-2.0

package recording

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"example.org/app/internal/recording/event"
	"example.org/app/internal/recording/jfr/jfrtest"
)

var boxed = Limits{MaxTotalBytes: 1 << 30, MaxRecordings: 4, Continuous: Continuous{Enabled: true, MaxAge: time.Hour, MaxSize: 1 << 24, MaxDumps: 3}}

// awaitBox waits until the black box runs.
func (f *fixture) awaitBox(t *testing.T) {
	t.Helper()
	eventually(t, "the black box", func() bool {
		f.mu.Lock()
		defer f.mu.Unlock()
		return f.box.rec != nil && f.box.rec.state == Running
	})
}

func (f *fixture) keepNow(t *testing.T, i event.Incident) int64 {
	t.Helper()
	id, err := f.Keep(i)
	if err != nil {
		t.Fatal(err)
	}
	return id
}

func TestTheBlackBoxIsKept(t *testing.T) {
	f := start(t, t.TempDir(), boxed)
	f.awaitBox(t)
	if list := f.List(nil); len(list) != 0 {
		t.Errorf("the black box is listed: %v", list)
	}
	event.Record(event.SessionOpened{UserID: 7})
	f.Close(nil)
	f.Delete(nil)
	event.Report(event.Incident{Reason: event.JVMDied, Detail: "exit status 3"})
	eventually(t, "the dump", func() bool { return len(f.List(nil)) == 1 })
	info := f.List(nil)[0]
	if info.State != Stopped || info.Description != "black box: JVM died: exit status 3" || info.Start.IsZero() || info.Close.IsZero() {
		t.Errorf("the recording is %+v", info)
	}
	path := filepath.Join(t.TempDir(), "box.jfr")
	if err := os.WriteFile(path, f.read(t, info.ID, false), 0o600); err != nil {
		t.Fatal(err)
	}
	if found := find(jfrtest.Check(t, path), "app.SessionOpened"); len(found) != 1 {
		t.Errorf("%d sessions", len(found))
	}
	for _, kind := range ProfileKinds {
		f.profile(t, info.ID, kind)
	}

	// One for each reason and minute.
	if id := f.keepNow(t, event.Incident{Reason: event.JVMDied}); id != 0 {
		t.Errorf("it was kept again as %d", id)
	}
	if id := f.keepNow(t, event.Incident{Reason: event.NodeCallFailed}); id == 0 {
		t.Error("it was not kept for another reason")
	}
	f.mu.Lock()
	f.box.kept[event.JVMDied] = time.Now().Add(-dumpPause)
	f.mu.Unlock()
	if id := f.keepNow(t, event.Incident{Reason: event.JVMDied}); id == 0 {
		t.Error("it was not kept after a minute")
	}

	// What comes later is not in a dump.
	event.Record(event.SessionOpened{UserID: 8})
	f.rotateNow()
	if found := find(f.events(t, info.ID), "app.SessionOpened"); len(found) != 1 {
		t.Errorf("%d sessions", len(found))
	}
	// Dumps outlive a restart, the black box does not.
	f.stop()
	if _, err := os.Stat(filepath.Join(f.folder, boxFolder)); err == nil {
		t.Error("the black box of a process that stopped is left")
	}
	f = start(t, f.folder, boxed)
	if found := find(f.events(t, info.ID), "app.SessionOpened"); len(found) != 1 {
		t.Errorf("%d sessions after a restart", len(found))
	}
	if list := f.List(nil); len(list) != 3 {
		t.Errorf("after a restart there are %v", list)
	}
	f.awaitBox(t)
	// There are as many as there may be.
	last := f.keepNow(t, event.Incident{Reason: event.Quit})
	if list := f.List(nil); len(list) != 3 || list[2].ID != last || list[0].ID == info.ID {
		t.Errorf("there are %v", list)
	}
}

func TestNoBlackBoxUnlessItIsEnabled(t *testing.T) {
	limits := boxed
	limits.Continuous.Enabled = false
	f := start(t, t.TempDir(), limits)
	if id := f.keepNow(t, event.Incident{Reason: event.Quit}); id != 0 {
		t.Errorf("it was kept as %d", id)
	}
	if event.On(event.KindSQLTransaction) {
		t.Error("events are wanted without a recording")
	}
}

func TestTheBlackBoxOfAProcessThatWasKilledIsKept(t *testing.T) {
	f := start(t, t.TempDir(), boxed)
	f.awaitBox(t)
	event.Record(event.SessionOpened{UserID: 7})
	f.rotateNow()
	// A process that is killed leaves its files as they are.
	after := filepath.Join(t.TempDir(), "after")
	if err := os.CopyFS(after, os.DirFS(f.folder)); err != nil {
		t.Fatal(err)
	}
	f.stop()
	f = start(t, after, boxed)
	list := f.List(nil)
	if len(list) != 1 || list[0].State != Stopped || !strings.HasPrefix(list[0].Description, "black box: the server ended") {
		t.Fatalf("there are %v", list)
	}
	if found := find(f.events(t, list[0].ID), "app.SessionOpened"); len(found) != 1 {
		t.Errorf("%d sessions", len(found))
	}
}

func TestTheBlackBoxKeepsToTheTotalLimit(t *testing.T) {
	limits := boxed
	limits.MaxTotalBytes = 400 << 10
	f := start(t, t.TempDir(), limits)
	f.awaitBox(t)
	for n, reason := range []event.Reason{event.JVMDied, event.NodeCallFailed, event.HealthCheckFailed, event.PluginQuarantined, event.Quit} {
		for range 5 {
			f.rotateNow()
		}
		id, err := f.Keep(event.Incident{Reason: reason})
		f.mu.Lock()
		used := f.used()
		f.mu.Unlock()
		if used > limits.MaxTotalBytes {
			t.Errorf("%d: the recordings have %d bytes", n, used)
		}
		if err != nil && !strings.Contains(err.Error(), "allowed") || err == nil && id == 0 {
			t.Errorf("%d: %d, %v", n, id, err)
		}
	}
	err := filepath.WalkDir(f.folder, func(path string, _ fs.DirEntry, err error) error {
		if strings.HasSuffix(path, ".tmp") {
			t.Errorf("%s is left", path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}
