// SPDX-License-Identifier: Apache-2.0

package metrics

import "github.com/prometheus/client_golang/prometheus"

// Gauge is one series of a number that rises and falls.
type Gauge struct{ gauge prometheus.Gauge }

// Set replaces the value.
func (g *Gauge) Set(v float64) { g.gauge.Set(v) }

// Add adds n, which may be negative.
func (g *Gauge) Add(n float64) { g.gauge.Add(n) }

// Inc adds one.
func (g *Gauge) Inc() { g.gauge.Inc() }

// Dec subtracts one.
func (g *Gauge) Dec() { g.gauge.Dec() }

// GaugeVec is a gauge with tags.
type GaugeVec struct{ series *series[Gauge] }

// With returns the gauge with the given tag values, in the order of the declared keys.
func (v *GaugeVec) With(values ...string) *Gauge { return v.series.get(values) }

// Gauge declares a gauge without tags.
func (r *Registry) Gauge(d Declaration) *Gauge {
	d.mustHaveNoTags()
	return r.GaugeVec(d).With()
}

// GaugeVec declares a gauge with tags.
func (r *Registry) GaugeVec(d Declaration) *GaugeVec {
	f := r.declare(d, TypeGauge)
	vec := prometheus.NewGaugeVec(prometheus.GaugeOpts(f.opts()), f.labels)
	r.register(vec, f.Name)
	return &GaugeVec{newSeries(f, func(values []string) *Gauge {
		return &Gauge{vec.WithLabelValues(values...)}
	})}
}
