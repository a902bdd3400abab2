// SPDX-License-Identifier: Apache-2.0

package metrics

import "time"

// Plugins holds what the calls of plugins count.
type Plugins struct{ calls *TimerVec }

// Plugins returns the instruments of plugins.
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

// Forget removes the series of an extension that is gone.
func (p *Plugins) Forget(plugin, extension string) {
	p.calls.forget(func(values []string) bool { return values[0] == plugin && values[1] == extension })
}

// PluginReading is the state of one extension.
type PluginReading struct {
	Plugin, Extension string
	// State is LOADED, STARTED, PAUSED or STOPPED.
	State string
	// Queue is how many calls are running or waiting.
	Queue int
}

// RegisterPlugins publishes the state of plugins, which is asked for at every reading, so that what is gone has no
// series. memory calls emit once for each plugin; both functions must be quick.
func (r *Registry) RegisterPlugins(extensions func() []PluginReading, memory func(emit func(bytes float64, plugin string))) {
	queue := r.reading(Declaration{
		Name: "plugin.queue", Description: "Calls of an extension that are running or waiting.", Tags: []string{"plugin", "extension"},
	}, TypeGauge)
	state := r.reading(Declaration{
		Name: "plugin.extensions", Description: "Extensions, with the state that they are in; always 1.", Tags: []string{"plugin", "extension", "state"},
	}, TypeGauge)
	bytes := r.reading(Declaration{
		Name: "plugin.memory", Description: "Memory that a plugin holds, as far as its host knows.", BaseUnit: UnitBytes, Tags: []string{"plugin"},
	}, TypeGauge)
	r.source([]*reading{queue, state, bytes}, func(emit emitter) {
		seen := map[[2]string]bool{}
		for _, e := range extensions() {
			key := [2]string{e.Plugin, e.Extension}
			if seen[key] {
				continue // Two classes of one name; a series may be there only once.
			}
			seen[key] = true
			emit.value(queue, float64(e.Queue), e.Plugin, e.Extension)
			emit.value(state, 1, e.Plugin, e.Extension, e.State)
		}
		memory(func(v float64, plugin string) { emit.value(bytes, v, plugin) })
	})
}
