// SPDX-License-Identifier: Apache-2.0

package recording

import (
	"os"
	"path/filepath"
	"testing"

	"example.org/app/internal/recording/jfr/jfrtest"
	"example.org/app/test/need"
)

// checkFile lets the tools read a recording, which must have events of a JVM or none.
func (f *fixture) checkFile(t *testing.T, id int64, closing, jvm bool) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "recording.jfr")
	if err := os.WriteFile(path, f.read(t, id, closing), 0o600); err != nil {
		t.Fatal(err)
	}
	if found := len(find(jfrtest.Check(t, path), "jdk.ActiveRecording")) > 0; found != jvm {
		t.Errorf("events of a JVM: %t, want %t", found, jvm)
	}
}

// accept makes the recording of a JVM part of the running recordings.
func (f *fixture) accept(t *testing.T, jvm []byte, process int) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "part.jfr")
	if err := os.WriteFile(path, jvm, 0o600); err != nil {
		t.Fatal(err)
	}
	f.Accept(path, process)
}

// nothing disables every event.
func nothing() map[string]string {
	custom := map[string]string{}
	for name := range settable {
		custom[name+"#"+settingEnabled] = "false"
	}
	return custom
}

// TestToolsReadEveryFile lets the tools of a JDK read what other tests do not: recordings that are
// empty, closed, at their limit, or left by a crash, with and without a JVM.
func TestToolsReadEveryFile(t *testing.T) {
	need.Time(t)
	jvm, err := os.ReadFile(jfrtest.RecordJVM(t))
	if err != nil {
		t.Fatal(err)
	}
	t.Run("nothing could be written", func(t *testing.T) {
		f := start(t, t.TempDir(), Limits{MaxTotalBytes: 100, MaxRecordings: 1, Retention: -1})
		id := f.create(t, Spec{})
		f.rotateNow()
		if f.state(id) != Stopped {
			t.Errorf("the state is %s", f.state(id))
		}
		f.checkFile(t, id, false, false)
	})
	t.Run("no events", func(t *testing.T) {
		f := start(t, t.TempDir(), roomy)
		id := f.create(t, Spec{Settings: nothing()})
		if events := f.events(t, id); len(events) != 0 {
			t.Errorf("the recording has %d events, such as %v", len(events), events[0])
		}
		f.checkFile(t, id, true, false)
	})
	t.Run("closed", func(t *testing.T) {
		f := start(t, t.TempDir(), roomy)
		f.checkFile(t, f.create(t, Spec{Settings: map[string]string{"template": "profile"}}), true, false)
	})
	t.Run("no events but those of a JVM", func(t *testing.T) {
		f := start(t, t.TempDir(), roomy)
		id := f.create(t, Spec{Settings: nothing()})
		f.accept(t, jvm, 1)
		f.checkFile(t, id, true, true)
	})
	t.Run("at the limit with JVMs", func(t *testing.T) {
		f := start(t, t.TempDir(), roomy)
		most := int64(5 * len(jvm) / 2)
		id := f.create(t, Spec{MaxSize: most})
		for i := range 6 {
			for range 4 {
				f.rotateNow()
			}
			f.accept(t, jvm, i/2)
		}
		f.mu.Lock()
		size, parts := f.recordings[id].size, len(f.recordings[id].jvm)
		f.mu.Unlock()
		if size > most || parts != 2 {
			t.Errorf("the recording has %d of %d bytes, and %d parts of JVMs", size, most, parts)
		}
		f.checkFile(t, id, false, true)
	})
	t.Run("left by a crash with a JVM", func(t *testing.T) {
		f := start(t, t.TempDir(), roomy)
		id := f.create(t, Spec{})
		f.rotateNow()
		f.accept(t, jvm, 1)
		f.rotateNow()
		folder := t.TempDir()
		if err := os.CopyFS(folder, os.DirFS(f.opts.Folder)); err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{"000003.jfr", "000004.jvm"} { // The crash came while these were written.
			if err := os.WriteFile(filepath.Join(folder, "1", name), jvm[:1000], 0o600); err != nil {
				t.Fatal(err)
			}
		}
		f = start(t, folder, roomy)
		if f.state(id) != Stopped {
			t.Errorf("the state is %s", f.state(id))
		}
		f.checkFile(t, id, false, true)
		for _, name := range []string{"000003.jfr", "000004.jvm"} {
			if info, err := os.Stat(filepath.Join(folder, "1", name)); err == nil && info.Size() == 1000 {
				t.Errorf("half a file is left: %s", name)
			}
		}
	})
}
