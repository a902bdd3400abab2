// SPDX-License-Identifier: Apache-2.0

package metrics

import "github.com/prometheus/client_golang/prometheus"

// Counter is one series of a monotonic counter.
type Counter struct{ counter prometheus.Counter }

// Inc adds one.
func (c *Counter) Inc() { c.counter.Inc() }

// Add adds n. Negative values and NaN are ignored.
func (c *Counter) Add(n float64) {
	if n >= 0 {
		c.counter.Add(n)
	}
}

// CounterVec is a counter with tags.
type CounterVec struct{ series *series[Counter] }

// With returns the counter with the given tag values, in the order of the declared keys. Hot code
// keeps the result.
func (v *CounterVec) With(values ...string) *Counter { return v.series.get(values) }

// Counter declares a counter without tags.
func (r *Registry) Counter(d Declaration) *Counter {
	d.mustHaveNoTags()
	return r.CounterVec(d).With()
}

// CounterVec declares a counter with tags.
func (r *Registry) CounterVec(d Declaration) *CounterVec {
	f := r.declare(d, TypeCounter)
	vec := prometheus.NewCounterVec(prometheus.CounterOpts(f.opts()), f.labels)
	r.register(vec, f.Name)
	return &CounterVec{newSeries(f, func(values []string) *Counter {
		return &Counter{vec.WithLabelValues(values...)}
	})}
}
