// SPDX-License-Identifier: Apache-2.0

package metrics

import (
	"fmt"
	"slices"
	"testing"
	"time"
)

func TestPlugins(t *testing.T) {
	r := New(BuildInfo{})
	loaded := []PluginReading{{"a", "X", "STARTED", 3, "start failed"}, {"a", "X", "LOADED", 1, ""}, {"b", "Y", "PAUSED", 0, ""}}
	r.RegisterPlugins(func() []PluginReading { return loaded }, func() []PluginUsage {
		if len(loaded) == 0 {
			return nil
		}
		return []PluginUsage{{"a", 4096, 1500 * time.Millisecond, 8192}, {"b", 0, 0, 0}}
	}, func() []PluginShadow {
		if len(loaded) == 0 {
			return nil
		}
		return []PluginShadow{{"b", 4, 3, 2, 1}}
	})
	series := func() (list []string) {
		t.Helper()
		found := snapshot(t, r, []string{"plugin.calls", "plugin.queue", "plugin.extensions", "plugin.memory", "plugin.cpu", "plugin.allocated", "plugin.unavailable", "plugin.shadow.calls"})
		for _, m := range found {
			for _, meter := range m.Meters {
				list = append(list, fmt.Sprintf("%s%v%v", m.Name, meter.Tags, meter.Values[0].Value))
			}
		}
		return list
	}
	p := r.Plugins()
	p.Observe("a", "X", "P", "m", "ok", time.Millisecond)
	p.Observe("a", "X", "P", "m", "ok", time.Millisecond)
	p.Observe("a", "X", "P", "m", "error", time.Millisecond)
	p.Observe("b", "Y", "P", "m", "ok", time.Millisecond)
	want := []string{
		"plugin.allocated[plugin:a]8192",
		"plugin.calls[extension:X method:m outcome:error plugin:a point:P]1",
		"plugin.calls[extension:X method:m outcome:ok plugin:a point:P]2",
		"plugin.calls[extension:Y method:m outcome:ok plugin:b point:P]1",
		"plugin.cpu[plugin:a]1.5",
		"plugin.extensions[extension:X plugin:a state:STARTED]1",
		"plugin.extensions[extension:Y plugin:b state:PAUSED]1",
		"plugin.memory[plugin:a]4096",
		"plugin.queue[extension:X plugin:a]3",
		"plugin.queue[extension:Y plugin:b]0",
		"plugin.shadow.calls[outcome:different plugin:b]3",
		"plugin.shadow.calls[outcome:dropped plugin:b]1",
		"plugin.shadow.calls[outcome:equal plugin:b]4",
		"plugin.shadow.calls[outcome:failed plugin:b]2",
		"plugin.unavailable[extension:X plugin:a reason:start failed]1",
		"plugin.unavailable[extension:Y plugin:b reason:]0",
	}
	if got := series(); !slices.Equal(got, want) {
		t.Errorf("the series are\n%q", got)
	}
	p.Forget("a", "X")
	loaded = nil
	if got := series(); !slices.Equal(got, want[3:4]) {
		t.Errorf("the series are\n%q", got)
	}
	p.Observe("a", "X", "P", "m", "ok", time.Millisecond)
	if got := series(); len(got) != 2 {
		t.Errorf("the series are\n%q", got)
	}
}

func TestJava(t *testing.T) {
	r := New(BuildInfo{})
	reading := JavaReading{Restarts: 2}
	r.RegisterJava(func() JavaReading { return reading })
	series := func() (list []string) {
		t.Helper()
		found := snapshot(t, r, []string{"plugin.java.up", "plugin.java.restarts", "plugin.java.resident", "plugin.java.heap.used", "plugin.java.metaspace"})
		for _, m := range found {
			for _, meter := range m.Meters {
				list = append(list, fmt.Sprint(m.Name, meter.Values[0].Value))
			}
		}
		slices.Sort(list)
		return list
	}
	if got := series(); !slices.Equal(got, []string{"plugin.java.restarts2", "plugin.java.up0"}) {
		t.Errorf("the series are %q", got)
	}
	reading = JavaReading{Up: true, Restarts: 2, Resident: 5, HeapUsed: 4, Metaspace: 3}
	if got := series(); !slices.Equal(got, []string{"plugin.java.heap.used4", "plugin.java.metaspace3", "plugin.java.resident5", "plugin.java.restarts2", "plugin.java.up1"}) {
		t.Errorf("the series are %q", got)
	}
}
