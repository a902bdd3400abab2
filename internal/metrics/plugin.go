// SPDX-License-Identifier: Apache-2.0

package metrics

import "time"

// Plugins contains the instruments of plugin calls.
type Plugins struct{ calls *TimerVec }

// Plugins returns the instruments of plugin calls.
func (r *Registry) Plugins() *Plugins { return r.plugins }

func newPlugins(r *Registry) *Plugins {
	return &Plugins{calls: r.TimerVec(Declaration{
		Name:        "plugin.calls",
		Description: "Duration of calls of extensions. The outcome is ok, refused, error or timeout.",
		Tags:        []string{"plugin", "extension", "point", "method", "outcome"},
	})}
}

// Observe records one finished call of an extension.
func (p *Plugins) Observe(plugin, extension, point, method, outcome string, d time.Duration) {
	p.calls.With(plugin, extension, point, method, outcome).Observe(d)
}

// Forget removes the series of a removed extension.
func (p *Plugins) Forget(plugin, extension string) {
	p.calls.forget(func(values []string) bool { return values[0] == plugin && values[1] == extension })
}

// PluginReading is the state of one extension.
type PluginReading struct {
	Plugin, Extension string
	// State is LOADED, STARTED, PAUSED or STOPPED.
	State string
	// Queue is the number of calls that are running or waiting.
	Queue int
	// Unavailable is the reason why the extension should run but cannot, as a short constant text
	// per kind of reason; empty if it can run or is not meant to.
	Unavailable string
}

// PluginUsage is the resource usage of one plugin. Unknown values are 0 and have no series.
type PluginUsage struct {
	Plugin string
	// Memory is in bytes.
	Memory int64
	CPU    time.Duration
	// Allocated is in bytes.
	Allocated int64
}

// PluginShadow counts the results of a plugin's copied calls on a version that receives only
// copies.
type PluginShadow struct {
	Plugin                            string
	Equal, Different, Failed, Dropped int64
}

// RegisterPlugins publishes the state of plugins, which is read for every gathering, so that
// removed plugins have no series. usage returns that of each plugin, and shadows that of plugins
// with a shadow version; all functions must be quick.
func (r *Registry) RegisterPlugins(extensions func() []PluginReading, usage func() []PluginUsage, shadows func() []PluginShadow) {
	queue := r.reading(Declaration{
		Name: "plugin.queue", Description: "Calls of an extension that are running or waiting.", Tags: []string{"plugin", "extension"},
	}, TypeGauge)
	state := r.reading(Declaration{
		Name: "plugin.extensions", Description: "Extensions, with the state that they are in; always 1.", Tags: []string{"plugin", "extension", "state"},
	}, TypeGauge)
	bytes := r.reading(Declaration{
		Name: "plugin.memory", Description: "Memory that a plugin holds, as far as its host knows.", BaseUnit: UnitBytes, Tags: []string{"plugin"},
	}, TypeGauge)
	cpu := r.reading(Declaration{
		Name: "plugin.cpu", Description: "Time of a processor that a plugin used, as far as its host knows.", BaseUnit: UnitSeconds, Tags: []string{"plugin"},
	}, TypeCounter)
	allocated := r.reading(Declaration{
		Name: "plugin.allocated", Description: "Memory that a plugin was given, whatever became of it, as far as its host knows.", BaseUnit: UnitBytes, Tags: []string{"plugin"},
	}, TypeCounter)
	unavailable := r.reading(Declaration{
		Name: "plugin.unavailable", Description: "Whether an extension cannot run although it should, 1 or 0: what it may refuse is refused meanwhile. The reason is in a few words.", Tags: []string{"plugin", "extension", "reason"},
	}, TypeGauge)
	copies := r.reading(Declaration{
		Name: "plugin.shadow.calls", Description: "Copies of calls that a version of a plugin got as a shadow, by how they ended beside the active version: equal, different, failed; dropped were not made.", Tags: []string{"plugin", "outcome"},
	}, TypeCounter)
	r.source([]*reading{queue, state, bytes, cpu, allocated, unavailable, copies}, func(emit emitter) {
		seen := map[[2]string]bool{}
		for _, e := range extensions() {
			key := [2]string{e.Plugin, e.Extension}
			if seen[key] {
				continue // Two classes with the same name; a series must be unique.
			}
			seen[key] = true
			emit.value(queue, float64(e.Queue), e.Plugin, e.Extension)
			emit.value(state, 1, e.Plugin, e.Extension, e.State)
			down := 0.0
			if e.Unavailable != "" {
				down = 1
			}
			emit.value(unavailable, down, e.Plugin, e.Extension, e.Unavailable)
		}
		for _, u := range usage() {
			if u.Memory > 0 {
				emit.value(bytes, float64(u.Memory), u.Plugin)
			}
			if u.CPU > 0 {
				emit.value(cpu, u.CPU.Seconds(), u.Plugin)
			}
			if u.Allocated > 0 {
				emit.value(allocated, float64(u.Allocated), u.Plugin)
			}
		}
		for _, s := range shadows() {
			emit.value(copies, float64(s.Equal), s.Plugin, "equal")
			emit.value(copies, float64(s.Different), s.Plugin, "different")
			emit.value(copies, float64(s.Failed), s.Plugin, "failed")
			emit.value(copies, float64(s.Dropped), s.Plugin, "dropped")
		}
	})
}

// JavaReading is the state of the JVMs that run Java plugins.
type JavaReading struct {
	Up bool
	// Processes is the number of JVMs with plugins; Spares that of JVMs that wait to replace a
	// failed one.
	Processes int
	Spares    int
	Restarts  int64
	// Resident, HeapUsed, HeapCommitted and Metaspace are bytes.
	Resident, HeapUsed, HeapCommitted, Metaspace int64
	// Calls is the number of running calls.
	Calls int64
}

// RegisterJava publishes the state of the JVMs that run Java plugins, which is read for every
// gathering; the function must be quick.
func (r *Registry) RegisterJava(read func() JavaReading) {
	gauge := func(name, description string, unit string) *reading {
		return r.reading(Declaration{Name: name, Description: description, BaseUnit: unit}, TypeGauge)
	}
	up := gauge("plugin.java.up", "Whether the JVM that runs Java plugins is up.", "")
	processes := gauge("plugin.java.processes", "How many JVMs run Java plugins.", "")
	spares := gauge("plugin.java.spares", "How many JVMs without plugins are kept for the next one that dies.", "")
	calls := gauge("plugin.java.calls", "Calls that run in the JVM of Java plugins.", "")
	rss := gauge("plugin.java.resident", "Memory that the process of the JVM of Java plugins holds.", UnitBytes)
	used := gauge("plugin.java.heap.used", "Used heap of the JVM of Java plugins.", UnitBytes)
	committed := gauge("plugin.java.heap.committed", "Heap of the JVM of Java plugins.", UnitBytes)
	meta := gauge("plugin.java.metaspace", "Memory for classes in the JVM of Java plugins.", UnitBytes)
	restarts := r.reading(Declaration{Name: "plugin.java.restarts", Description: "How often the JVM of Java plugins died and was started again."}, TypeCounter)
	r.source([]*reading{up, processes, spares, calls, rss, used, committed, meta, restarts}, func(emit emitter) {
		j := read()
		emit.value(restarts, float64(j.Restarts))
		if !j.Up {
			emit.value(up, 0)
			return
		}
		emit.value(up, 1)
		emit.value(processes, float64(j.Processes))
		emit.value(spares, float64(j.Spares))
		emit.value(calls, float64(j.Calls))
		emit.value(rss, float64(j.Resident))
		emit.value(used, float64(j.HeapUsed))
		emit.value(committed, float64(j.HeapCommitted))
		emit.value(meta, float64(j.Metaspace))
	})
}
