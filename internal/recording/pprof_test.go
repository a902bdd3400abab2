// SPDX-License-Identifier: Apache-2.0

package recording

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/pprof/profile"

	"example.org/app/internal/apierr"
	"example.org/app/test/need"
)

// goTool runs a tool of Go on a file of a recording.
func goTool(t *testing.T, data []byte, args ...string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("go", append(append([]string{"tool"}, args...), path)...)
	cmd.Env = append(os.Environ(), "PPROF_TMPDIR="+t.TempDir())
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("go tool %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return string(out)
}

func (f *fixture) profile(t *testing.T, id int64, kind ProfileKind) []byte {
	t.Helper()
	content, err := f.Profile(id, kind)
	if err != nil {
		t.Fatal(err)
	}
	return readAll(t, content)
}

// contend lets goroutines wait for each other until stop is set, for a lock that this function
// holds.
func contend(stop *atomic.Bool) {
	var mu sync.Mutex
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			for !stop.Load() {
				mu.Lock()
				time.Sleep(2 * time.Millisecond)
				mu.Unlock()
			}
		})
	}
	all.Wait()
}

func TestGoToolsReadProfilesAndTraces(t *testing.T) {
	need.Time(t)
	f := start(t, t.TempDir(), roomy)
	id := f.create(t, Spec{Settings: map[string]string{"template": "profile", "go.ExecutionTrace#enabled": "true"}})
	var stop atomic.Bool
	var busy sync.WaitGroup
	busy.Go(func() { t.Log("burned to", burnForTheProfile(&stop)) })
	busy.Go(func() { contend(&stop) })
	shows := map[ProfileKind]string{CPU: "burnForTheProfile", Mutex: "contend", Block: "contend", Goroutine: "contend", Heap: "recording"}
	eventually(t, "the profiles", func() bool {
		for kind, want := range map[ProfileKind]string{CPU: "burnForTheProfile", Mutex: "contend", Block: "contend"} {
			if p, err := profile.ParseData(f.profile(t, id, kind)); err != nil || !strings.Contains(p.String(), want) {
				return false
			}
		}
		return true
	})
	check := func(when string) {
		for _, kind := range ProfileKinds {
			out := goTool(t, f.profile(t, id, kind), "pprof", "-top", "-nodecount=500")
			if kind != Heap && !strings.Contains(out, shows[kind]) {
				t.Errorf("%s: the %s profile does not show %s:\n%s", when, kind, shows[kind], out)
			}
			if !strings.Contains(out, "Showing nodes") {
				t.Errorf("%s: pprof shows nothing of the %s profile:\n%s", when, kind, out)
			}
		}
		content, err := f.Trace(id)
		if err != nil {
			t.Fatal(err)
		}
		if out := goTool(t, readAll(t, content), "trace", "-d=parsed"); !strings.Contains(out, "burnForTheProfile") || !strings.Contains(out, "StateTransition") {
			t.Errorf("%s: the trace does not show the goroutine that burns:\n%.2000s", when, out)
		}
	}
	check("running")
	if out := goTool(t, f.profile(t, id, CPU), "pprof", "-top", "-nodecount=1"); !strings.Contains(out, "burnForTheProfile") {
		t.Errorf("the function that burns is not the top:\n%s", out)
	}
	f.read(t, id, true) // It is closed while the functions run.
	check("closed")
	stop.Store(true)
	busy.Wait()

	before := f.profile(t, id, CPU)
	f.stop()
	f = start(t, f.folder, roomy)
	check("restarted")
	if after := f.profile(t, id, CPU); len(after) != len(before) {
		t.Errorf("the CPU profile of a closed recording changed from %d to %d bytes", len(before), len(after))
	}

	// A later recording does not have what happened before it.
	next := f.create(t, Spec{Settings: map[string]string{"template": "profile"}})
	if p, err := profile.ParseData(f.profile(t, next, Mutex)); err != nil || strings.Contains(p.String(), "contend") {
		t.Errorf("the mutex profile of a new recording is %v, %v", p, err)
	}
}

func TestProfilesThatARecordingDoesNotHave(t *testing.T) {
	f := start(t, t.TempDir(), roomy)
	delayed := f.create(t, Spec{Delay: time.Hour})
	id := f.create(t, Spec{Settings: map[string]string{
		"jdk.ExecutionSample#enabled": "false", "go.MutexContention#enabled": "false", "go.BlockedGoroutines#enabled": "false",
	}})
	refusals := func() {
		t.Helper()
		for _, kind := range []ProfileKind{CPU, Mutex, Block} {
			if _, err := f.Profile(id, kind); code(err) != apierr.ResourceNotFound || !strings.Contains(err.Error(), "enabled") {
				t.Errorf("%s: the error is %v", kind, err)
			}
		}
		if _, err := f.Trace(id); code(err) != apierr.ResourceNotFound || !strings.Contains(err.Error(), "go.ExecutionTrace") {
			t.Errorf("trace: the error is %v", err)
		}
	}
	refusals()
	f.read(t, id, true)
	refusals()
	for _, kind := range ProfileKinds {
		if _, err := f.Profile(99, kind); code(err) != apierr.ResourceNotFound {
			t.Errorf("%s: the error is %v", kind, err)
		}
		if _, err := f.Profile(delayed, kind); code(err) != apierr.DumpJFRInIllegalStatus {
			t.Errorf("%s: the error is %v", kind, err)
		}
	}
	if _, err := f.Trace(99); code(err) != apierr.ResourceNotFound {
		t.Errorf("trace: the error is %v", err)
	}
	if _, err := f.Trace(delayed); code(err) != apierr.DumpJFRInIllegalStatus {
		t.Errorf("trace: the error is %v", err)
	}
}

func TestTheTotalLimitCountsProfiles(t *testing.T) {
	f := start(t, t.TempDir(), roomy)
	id := f.create(t, Spec{})
	f.read(t, id, true)
	f.mu.Lock()
	counted := f.used()
	f.mu.Unlock()
	measure := func() (bytes int64) {
		entries, err := os.ReadDir(filepath.Join(f.folder, "1"))
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			if info, err := e.Info(); err == nil && e.Name() != descriptionFile {
				bytes += info.Size()
			}
		}
		return bytes
	}
	if counted != measure() {
		t.Errorf("%d bytes are counted of %d", counted, measure())
	}
	f.stop()
	f = start(t, f.folder, roomy)
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.used() != measure() {
		t.Errorf("after a restart %d bytes are counted of %d", f.used(), measure())
	}
}
