// SPDX-License-Identifier: Apache-2.0

package app

import (
	"bytes"
	"errors"
	"math"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"strings"
	"testing"
	"time"

	"example.org/app/internal/admin/api"
	"example.org/app/internal/cluster"
	"example.org/app/internal/config"
)

func TestGCPercent(t *testing.T) {
	for live, want := range map[uint64]int{0: 1600, 16 << 20: 400, 64 << 20: 100, 1 << 30: 100} {
		if got := gcPercent(live); got != want {
			t.Errorf("%d bytes: %d, want %d", live, got, want)
		}
	}
}

func TestWorthFreeing(t *testing.T) {
	const mb = 1 << 20
	for _, test := range []struct {
		live, held uint64
		want       bool
	}{
		{0, leastFreed, false},
		{10 * mb, 70 * mb, true},
		{10 * mb, 20 * mb, false},
		{1000 * mb, 1400 * mb, false},
		{1000 * mb, 1600 * mb, true},
		{20 * mb, 10 * mb, false}, // more was reachable when it was counted
	} {
		if got := worthFreeing(test.live, test.held); got != test.want {
			t.Errorf("%d bytes of which %d are reachable: %t", test.held, test.live, got)
		}
	}
}

// TestMemoryIsGivenBack checks that memory is returned to the system after work.
func TestMemoryIsGivenBack(t *testing.T) {
	released := func() uint64 {
		sample := []metrics.Sample{{Name: "/memory/classes/heap/released:bytes"}}
		metrics.Read(sample)
		return sample[0].Value.Uint64()
	}
	defer debug.SetGCPercent(debug.SetGCPercent(1600))
	var m memory
	m.look()
	debug.FreeOSMemory()
	// What other tests of the process still hold decides how much garbage is worth a collection.
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	var garbage [][]byte
	for range max(32, stats.HeapAlloc>>20) {
		garbage = append(garbage, bytes.Repeat([]byte{1}, 1<<20))
	}
	used := released()
	runtime.KeepAlive(garbage)
	m.look()
	if got := released(); got > used+leastFreed {
		t.Errorf("%d bytes were given back while there was work", got-used)
	}
	// A collection in the middle of the work may have counted the garbage as reachable: the next
	// one counts anew.
	for until := time.Now().Add(time.Minute); released() < used+24<<20; runtime.GC() {
		if time.Now().After(until) {
			t.Fatalf("%d bytes are given back, before the work %d were", released(), used)
		}
		m.look()
	}
}

// TestWorkIsFollowedByOneCollection checks that garbage of work is collected, pools included, and
// that there is no collection without work.
func TestWorkIsFollowedByOneCollection(t *testing.T) {
	collections := func() uint64 {
		sample := []metrics.Sample{{Name: "/gc/cycles/forced:gc-cycles"}}
		metrics.Read(sample)
		return sample[0].Value.Uint64()
	}
	var m memory
	m.look()
	m.settled = m.allocated
	work := func(size int) {
		garbage = make([]byte, size)
		runtime.KeepAlive(garbage)
		garbage = nil
	}
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	for _, test := range []struct {
		size int
		want uint64
	}{{int(stats.HeapAlloc) + 2*leastFreed, 2}, {0, 0}} {
		work(test.size)
		m.look() // That there was work is seen here, if there was.
		before := collections()
		for range 3 * calmLooks {
			m.look()
		}
		// The first look may find that it pays at once.
		if got := collections() - before; got < test.want || got > test.want && test.want == 0 {
			t.Errorf("%d bytes were followed by %d collections, want %d", test.size, got, test.want)
		}
	}
}

// garbage keeps the compiler from leaving out an allocation.
var garbage []byte

func TestVitals(t *testing.T) {
	c := config.Default().HealthCheck
	v := &vitals{}
	const gb = 1 << 30
	busy, calm := reading{cpu: 0.99, total: 8 * gb, free: 4 * gb}, reading{cpu: 0.5, total: 8 * gb, free: 4 * gb}
	for i := range c.CPU.Retries {
		if err := v.judge(c, busy); err != nil {
			t.Fatalf("unhealthy after %d checks: %v", i+1, err)
		}
	}
	// By default the load of the machine, which may be caused by others, does not make the node
	// refuse calls.
	if strain, ok := errors.AsType[*cluster.Strain](v.judge(c, busy)); !ok || strain.Refuse || !strings.Contains(strain.Reason, "99 %") {
		t.Errorf("too much load: %+v", strain)
	}
	c.CPU.Refuse = true
	if strain, ok := errors.AsType[*cluster.Strain](v.judge(c, busy)); !ok || !strain.Refuse {
		t.Errorf("too much load where that is refused: %+v", strain)
	}
	if err := v.judge(c, calm); err != nil {
		t.Errorf("after the load is gone: %v", err)
	}
	if err := v.judge(c, reading{total: 8 * gb, free: gb / 100}); err == nil || !strings.Contains(err.Error(), "free") {
		t.Errorf("too little memory: %v", err)
	}
	if err := v.judge(c, reading{total: 100 * gb, free: gb}); err == nil || !strings.Contains(err.Error(), "99 %") {
		t.Errorf("too much memory in use: %v", err)
	}
	if strain, ok := errors.AsType[*cluster.Strain](v.judge(c, reading{disk: 100 * gb, diskFree: 4096})); !ok || strain.Refuse || !strings.Contains(strain.Reason, "full: 4096 of") {
		t.Errorf("a full disk: %+v", strain)
	}
	if err := v.judge(c, reading{disk: 100 * gb, diskFree: gb}); err != nil {
		t.Errorf("a disk with room: %v", err)
	}
	late := calm
	late.wait = 2 * time.Second
	for i := range c.Overload.Retries {
		if err := v.judge(c, late); err != nil {
			t.Fatalf("overloaded after %d checks: %v", i+1, err)
		}
	}
	if strain, ok := errors.AsType[*cluster.Strain](v.judge(c, late)); !ok || !strain.Refuse || !strings.Contains(strain.Reason, "work waits 2s") {
		t.Errorf("work that waits: %+v", strain)
	}
	c.Overload.MaxWaitMillis = 0
	if err := v.judge(c, late); err != nil {
		t.Errorf("without a limit: %v", err)
	}
}

func TestWaiting(t *testing.T) {
	buckets := []float64{math.Inf(-1), 0.001, 0.1, 1, math.Inf(1)}
	for _, tt := range []struct {
		counts, before []uint64
		want           time.Duration
	}{
		{[]uint64{0, 0, 0, 0}, nil, 0},
		{[]uint64{100, 0, 0, 0}, nil, 0},
		{[]uint64{95, 0, 5, 0}, nil, 0},
		{[]uint64{80, 0, 20, 0}, nil, 100 * time.Millisecond},
		{[]uint64{80, 0, 0, 20}, nil, time.Second},
		{[]uint64{180, 0, 20, 20}, []uint64{80, 0, 20, 20}, 0},
		{[]uint64{180, 50, 20, 20}, []uint64{180, 0, 20, 20}, time.Millisecond},
	} {
		if got := percentile(buckets, tt.counts, tt.before); got != tt.want {
			t.Errorf("%v after %v: %s, want %s", tt.counts, tt.before, got, tt.want)
		}
	}
	var w waiting
	w.read()
	if len(w.counts) == 0 {
		t.Error("the runtime tells nothing of waits")
	}
}

// TestStrainIsReported asks /health of a node that is degraded and of one that refuses.
func TestStrainIsReported(t *testing.T) {
	v := &vitals{}
	for _, refuse := range []bool{false, true} {
		v.state.Store(&vitalState{&cluster.Strain{Refuse: refuse, Reason: "too much"}})
		report := api.NewHealth(api.Check{Name: "machine", Do: v.report}).Report(t.Context())
		want := "DEGRADED"
		if refuse {
			want = "DOWN"
		}
		if report.Parts[0].Status != want || report.Parts[0].Reason != "too much" || (report.Readiness == "UP") == refuse {
			t.Errorf("refuse %v: %+v", refuse, report)
		}
	}
}
