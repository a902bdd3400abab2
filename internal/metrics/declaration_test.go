// SPDX-License-Identifier: Apache-2.0

package metrics

import (
	"bytes"
	"slices"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestExpositionNames(t *testing.T) {
	for _, c := range []struct {
		name, unit string
		kind       Type
		want       string
	}{
		{"system.memory.total", UnitBytes, TypeGauge, "system_memory_total_bytes"},
		{"jvm.gc.memory.allocated", UnitBytes, TypeCounter, "jvm_gc_memory_allocated_bytes_total"},
		{"a.total", "", TypeCounter, "a_total"},
		{"process.uptime.seconds", UnitSeconds, TypeGauge, "process_uptime_seconds"},
		{"process.cpu.usage", PerTenThousand, TypeGauge, "process_cpu_usage"},
		{"http.server.requests", UnitSeconds, TypeTimer, "http_server_requests_seconds"},
		{"user.logged_in", "", TypeCounter, "user_logged_in_total"},
		{"a-b.c", "", TypeGauge, "a_b_c"},
	} {
		if got := expositionName(c.name, c.unit, c.kind); got != c.want {
			t.Errorf("expositionName(%q, %q, %s) = %q, want %q", c.name, c.unit, c.kind, got, c.want)
		}
	}
}

func TestDeclarationsThatPanic(t *testing.T) {
	valid := Declaration{Name: "a.b", Description: "Fine."}
	for name, declare := range map[string]func(r *Registry){
		"twice":           func(r *Registry) { r.Gauge(valid); r.Gauge(valid) },
		"same exposition": func(r *Registry) { r.Gauge(valid); r.Gauge(Declaration{Name: "a-b", Description: "Clash."}) },
		"exposition of a max": func(r *Registry) {
			r.Timer(valid)
			r.Gauge(Declaration{Name: "a.b.seconds.max", Description: "Clash."})
		},
		"empty name":     func(r *Registry) { r.Gauge(Declaration{Description: "No name."}) },
		"bad name":       func(r *Registry) { r.Gauge(Declaration{Name: "a b", Description: "Space."}) },
		"no description": func(r *Registry) { r.Gauge(Declaration{Name: "a"}) },
		"reserved tag":   func(r *Registry) { r.GaugeVec(Declaration{Name: "a", Description: "Tag.", Tags: []string{"le"}}) },
		"bad tag":        func(r *Registry) { r.GaugeVec(Declaration{Name: "a", Description: "Tag.", Tags: []string{"x:y"}}) },
		"tags share a label": func(r *Registry) {
			r.GaugeVec(Declaration{Name: "a", Description: "Tag.", Tags: []string{"x.y", "x-y"}})
		},
		"too many tags": func(r *Registry) {
			r.GaugeVec(Declaration{Name: "a", Description: "Tag.", Tags: []string{"a", "b", "c", "d", "e", "f", "g"}})
		},
		"tags without Vec": func(r *Registry) { r.Gauge(Declaration{Name: "a", Description: "Tag.", Tags: []string{"x"}}) },
		"values missing": func(r *Registry) {
			r.GaugeVec(Declaration{Name: "a", Description: "Tag.", Tags: []string{"x"}}).With()
		},
		"reading that is a timer": func(r *Registry) {
			r.RegisterStore([]Reading{{Key: "x", Description: "Timer.", Type: TypeTimer}}, nil)
		},
	} {
		t.Run(name, func(t *testing.T) {
			defer func() {
				if recover() == nil {
					t.Error("no panic")
				}
			}()
			declare(empty())
		})
	}
}

func TestSeriesAreBounded(t *testing.T) {
	r := empty()
	c := r.CounterVec(Declaration{Name: "c", Description: "Counts.", Tags: []string{"id"}})
	const extra = 50
	for i := range maxSeries + extra {
		c.With(strconv.Itoa(i)).Inc()
	}
	c.With("bad \xff").Inc()
	metrics := snapshot(t, r, nil)
	if got := len(metrics[0].Meters); got != maxSeries+1 {
		t.Errorf("%d series, want %d", got, maxSeries+1)
	}
	rest := metrics[0].Match([]Tag{{"id", overflowValue}})
	if v, _ := rest.Meters[0].Value(StatisticCount); v != extra+1 {
		t.Errorf("the series %q counts %v, want %d", overflowValue, v, extra+1)
	}
}

func TestStoreReadings(t *testing.T) {
	r := empty()
	calls := 0
	r.RegisterStore([]Reading{
		{Key: "connections.open", Description: "Open connections.", Type: TypeGauge},
		{Key: "written", Description: "Written data.", BaseUnit: UnitBytes, Type: TypeCounter},
		{Key: "absent", Description: "Not supplied.", Type: TypeGauge},
	}, func() map[string]float64 {
		calls++
		return map[string]float64{"connections.open": 3, "written": 4096, "undeclared": 1}
	})
	r.RegisterReadings("none", nil, nil)
	r.GaugeVecFunc(Declaration{Name: "v", Description: "By id.", Tags: []string{"id"}}, func(emit func(float64, ...string)) {
		emit(1, "a")
		emit(2, "b")
	})
	r.CounterFunc(Declaration{Name: "w", Description: "Grows."}, func() float64 { return 5 })
	var buf bytes.Buffer
	if err := WriteCSV(&buf, snapshot(t, r, nil)); err != nil {
		t.Fatal(err)
	}
	const want = "Name,Tags,Type,Value,Unit\nstore.connections.open,,GAUGE,3,\nstore.written,,COUNTER,4096,bytes\n" +
		"v,id:a,GAUGE,1,\nv,id:b,GAUGE,2,\nw,,COUNTER,5,"
	if diff := cmp.Diff(want, buf.String()); diff != "" {
		t.Errorf("csv (-want +got):\n%s", diff)
	}
	if calls != 1 {
		t.Errorf("the store was read %d times for one gathering", calls)
	}
	if want := []string{"store.absent", "store.connections.open", "store.written", "v", "w"}; !slices.Equal(r.Names(), want) {
		t.Errorf("names are %q, want %q", r.Names(), want)
	}
}
