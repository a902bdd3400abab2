// SPDX-License-Identifier: Apache-2.0

package metrics

import (
	"bytes"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"github.com/shirou/gopsutil/v4/process"

	"example.org/app/internal/role"
)

// dashboardNames are the names that the admin console requests.
var dashboardNames = []string{
	"process.cpu.usage", "system.cpu.usage", "system.memory.total", "system.memory.free", "system.memory.swap.total",
	"system.memory.swap.free", "disk.total", "disk.free",
	"jvm.buffer.count", "jvm.buffer.memory.used", "jvm.buffer.total.capacity", "jvm.classes.loaded",
	"jvm.classes.unloaded", "jvm.gc.live.data.size", "jvm.gc.max.data.size", "jvm.gc.memory.allocated",
	"jvm.gc.memory.promoted", "jvm.gc.pause", "jvm.memory.committed", "jvm.memory.max", "jvm.memory.used",
	"jvm.threads.daemon", "jvm.threads.live", "jvm.threads.peak",
	"rpc.request", "app.client.request",
	"user.registered", "user.deleted", "group.created", "group.deleted", "message.sent",
	"user.online", "user.logged_in",
}

func values(t *testing.T, r *Registry) map[string]Metric {
	t.Helper()
	metrics := snapshot(t, r, nil)
	byName := make(map[string]Metric)
	for _, m := range metrics {
		byName[m.Name] = m
	}
	return byName
}

func value(t *testing.T, metrics map[string]Metric, name string) float64 {
	t.Helper()
	m := metrics[name]
	if len(m.Meters) == 0 {
		t.Fatalf("%s has no meter", name)
	}
	return m.Meters[0].Values[0].Value
}

func TestDashboardNames(t *testing.T) {
	r := New(BuildInfo{})
	if err := r.RegisterProcess(t.TempDir()); err != nil {
		t.Fatal(err)
	}
	byName := values(t, r)
	for _, name := range dashboardNames {
		if len(byName[name].Meters) == 0 {
			t.Errorf("%s has no meter", name)
		}
	}
	// It has tags, so it has no meter before the first request; only its name exists.
	if _, ok := byName["http.server.requests"]; !ok {
		t.Error("http.server.requests is not declared")
	}
	for _, name := range []string{"process.cpu.usage", "system.cpu.usage"} {
		if unit := byName[name].BaseUnit; unit != "‱" {
			t.Errorf("the unit of %s is %q", name, unit)
		}
	}
}

func TestProcessValuesArePlausible(t *testing.T) {
	c := newClock()
	r := New(BuildInfo{}, WithClock(c.Now))
	// The folder need not exist yet.
	if err := r.RegisterProcess(filepath.Join(t.TempDir(), "not", "yet")); err != nil {
		t.Fatal(err)
	}
	runtime.GC()
	useCPU(t)
	c.Advance(2 * sampleAge)
	m := values(t, r)
	v := func(name string) float64 { return value(t, m, name) }
	for name, ok := range map[string]bool{
		"memory":       v("system.memory.total") > v("system.memory.free") && v("system.memory.free") > 0,
		"swap":         v("system.memory.swap.total") >= v("system.memory.swap.free") && v("system.memory.swap.free") >= 0,
		"disk":         v("disk.total") >= v("disk.free") && v("disk.free") > 0,
		"process cpu":  v("process.cpu.usage") > 0 && v("process.cpu.usage") <= 1,
		"system cpu":   v("system.cpu.usage") > 0 && v("system.cpu.usage") <= 1,
		"cpu count":    v("system.cpu.count") >= 1,
		"load":         v("system.load.average.1m") >= 0,
		"uptime":       v("process.uptime") > 0 && v("process.uptime") < 3600,
		"start":        v("process.start.time") > 1.6e9,
		"files":        v("process.files.open") > 2 && v("process.files.open") < v("process.files.max"),
		"goroutines":   v("go.goroutines") >= 1,
		"threads":      v("go.threads") >= 1 && v("jvm.threads.live") == v("go.threads") && v("jvm.threads.peak") >= v("go.threads"),
		"heap":         v("go.memory.heap.used") > 0 && v("go.memory.heap.objects") > 0,
		"gc":           v("go.gc.count") >= 1 && v("jvm.gc.pause") >= 1 && v("jvm.gc.live.data.size") > 0,
		"max data":     v("jvm.gc.max.data.size") > v("jvm.gc.live.data.size"),
		"allocated":    v("jvm.gc.memory.allocated") > 0 && v("jvm.gc.memory.promoted") == 0,
		"heap area":    v("jvm.memory.committed") >= v("jvm.memory.used") && v("jvm.memory.max") > v("jvm.memory.used"),
		"no classes":   v("jvm.classes.loaded") == 0 && v("jvm.buffer.count") == 0,
		"sched":        v("go.sched.latency") > 0,
		"non-heap":     m["jvm.memory.used"].Meters[1].Values[0].Value > 0,
		"non-heap max": m["jvm.memory.max"].Meters[1].Values[0].Value == -1,
	} {
		if !ok {
			t.Errorf("%s: implausible", name)
		}
	}
	pause := m["jvm.gc.pause"].Meters[0]
	total, _ := pause.Value(StatisticTotal)
	highest, _ := pause.Value(StatisticMax)
	if total <= 0 || highest <= 0 || highest > 10 {
		t.Errorf("jvm.gc.pause: total %v, max %v", total, highest)
	}
}

// useCPU computes until the system's accounting shows it, so that the ratios are not zero.
func useCPU(t *testing.T) {
	t.Helper()
	proc, err := process.NewProcess(int32(os.Getpid()))
	if err != nil {
		t.Fatal(err)
	}
	used := func() float64 {
		times, err := proc.Times()
		if err != nil {
			t.Fatal(err)
		}
		return times.User + times.System
	}
	for start := used(); used() < start+0.03; {
	}
}

func TestSamplesAreReused(t *testing.T) {
	c := newClock()
	r := New(BuildInfo{}, WithClock(c.Now))
	if err := r.RegisterProcess(t.TempDir()); err != nil {
		t.Fatal(err)
	}
	before := value(t, values(t, r), "go.gc.count")
	runtime.GC()
	if got := value(t, values(t, r), "go.gc.count"); got != before {
		t.Errorf("a sample was taken within %v", sampleAge)
	}
	c.Advance(sampleAge)
	if got := value(t, values(t, r), "go.gc.count"); got <= before {
		t.Errorf("no sample was taken after %v", sampleAge)
	}
}

func BenchmarkTimerObserve(b *testing.B) {
	b.Run("kept", func(b *testing.B) {
		r := New(BuildInfo{})
		timer := r.RPC().Request
		b.ReportAllocs()
		for b.Loop() {
			timer.Observe(time.Millisecond)
		}
	})
	b.Run("tags", func(b *testing.B) {
		r := New(BuildInfo{})
		b.ReportAllocs()
		for b.Loop() {
			r.HTTP().Observe(role.Service, "GET", "/users/relationships", 200, time.Millisecond)
		}
	})
	b.Run("tags parallel", func(b *testing.B) {
		r := New(BuildInfo{})
		b.ReportAllocs()
		b.RunParallel(func(pb *testing.PB) {
			for pb.Next() {
				r.HTTP().Observe(role.Service, "GET", "/users/relationships", 200, time.Millisecond)
			}
		})
	})
}

func BenchmarkScrape(b *testing.B) {
	for name, advance := range map[string]time.Duration{"cached": 0, "sampled": 2 * sampleAge} {
		b.Run(name, func(b *testing.B) {
			c := newClock()
			r := New(BuildInfo{}, WithClock(c.Now))
			if err := r.RegisterProcess(b.TempDir()); err != nil {
				b.Fatal(err)
			}
			for _, uri := range []string{"/users", "/groups", "/messages", "/metrics"} {
				r.HTTP().Observe(role.Service, "GET", uri, 200, time.Millisecond)
			}
			var buf bytes.Buffer
			for b.Loop() {
				c.Advance(advance)
				buf.Reset()
				if err := r.WritePrometheus(&buf, nil); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
