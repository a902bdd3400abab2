// SPDX-License-Identifier: Apache-2.0

package metrics

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// distribution is the common part of timers and distribution summaries: count, total and recent
// maximum of one series.
type distribution struct {
	observer prometheus.Observer
	max      decayingMax
	elapsed  func() time.Duration
}

func (d *distribution) observe(v float64) {
	d.observer.Observe(v)
	d.max.record(d.elapsed(), v)
}

// Timer is one series of durations.
type Timer struct{ distribution }

// Observe records one duration. A negative duration, which occurs only if a clock is set back,
// counts as zero.
func (t *Timer) Observe(d time.Duration) { t.observe(max(d, 0).Seconds()) }

// Since records the time since start.
func (t *Timer) Since(start time.Time) { t.Observe(time.Since(start)) }

// TimerVec is a timer with tags.
type TimerVec struct{ series *series[Timer] }

// With returns the timer with the given tag values, in the order of the declared keys. Hot code
// keeps the result.
func (v *TimerVec) With(values ...string) *Timer { return v.series.get(values) }

// forget removes the series whose tag values match.
func (v *TimerVec) forget(match func(values []string) bool) { v.series.forget(match) }

// Timer declares a timer without tags.
func (r *Registry) Timer(d Declaration) *Timer {
	d.mustHaveNoTags()
	return r.TimerVec(d).With()
}

// TimerVec declares a timer with tags.
func (r *Registry) TimerVec(d Declaration) *TimerVec {
	f := r.declare(d, TypeTimer)
	vec := prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name: f.exposition, Help: f.Description, Unit: f.exposedUnit(), Buckets: f.Buckets,
	}, f.labels)
	s := newSeries(f, func(values []string) *Timer {
		return &Timer{distribution{observer: vec.WithLabelValues(values...), elapsed: r.elapsed}}
	})
	s.remove = func(values []string) { vec.DeleteLabelValues(values...) }
	r.register(&distributionCollector[Timer]{vec, f, f.maxDesc(), s, func(t *Timer) float64 {
		return t.max.value(r.elapsed())
	}}, f.Name)
	return &TimerVec{s}
}

// DistributionSummary is one series of amounts other than durations, such as sizes.
type DistributionSummary struct{ distribution }

// Observe records one amount. Negative values and NaN are ignored, because they would corrupt the
// total permanently.
func (s *DistributionSummary) Observe(v float64) {
	if v >= 0 {
		s.observe(v)
	}
}

// DistributionSummaryVec is a distribution summary with tags.
type DistributionSummaryVec struct {
	series *series[DistributionSummary]
}

// With returns the summary with the given tag values, in the order of the declared keys.
func (v *DistributionSummaryVec) With(values ...string) *DistributionSummary {
	return v.series.get(values)
}

// DistributionSummary declares a distribution summary without tags.
func (r *Registry) DistributionSummary(d Declaration) *DistributionSummary {
	d.mustHaveNoTags()
	return r.DistributionSummaryVec(d).With()
}

// DistributionSummaryVec declares a distribution summary with tags. If the declaration has buckets,
// it is exposed as a histogram, otherwise as a summary of count and sum.
func (r *Registry) DistributionSummaryVec(d Declaration) *DistributionSummaryVec {
	f := r.declare(d, TypeDistributionSummary)
	var (
		vec     prometheus.Collector
		resolve func(values ...string) prometheus.Observer
	)
	if len(f.Buckets) > 0 {
		h := prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: f.exposition, Help: f.Description, Unit: f.exposedUnit(), Buckets: f.Buckets,
		}, f.labels)
		vec, resolve = h, h.WithLabelValues
	} else {
		s := prometheus.NewSummaryVec(prometheus.SummaryOpts{
			Name: f.exposition, Help: f.Description, Unit: f.exposedUnit(),
		}, f.labels)
		vec, resolve = s, s.WithLabelValues
	}
	s := newSeries(f, func(values []string) *DistributionSummary {
		return &DistributionSummary{distribution{observer: resolve(values...), elapsed: r.elapsed}}
	})
	r.register(&distributionCollector[DistributionSummary]{vec, f, f.maxDesc(), s, func(d *DistributionSummary) float64 {
		return d.max.value(r.elapsed())
	}}, f.Name)
	return &DistributionSummaryVec{s}
}

// distributionCollector adds the family of maxima to the family of the Prometheus library.
type distributionCollector[T any] struct {
	prometheus.Collector
	family *family
	desc   *prometheus.Desc
	series *series[T]
	max    func(*T) float64
}

// Describe implements prometheus.Collector.
func (c *distributionCollector[T]) Describe(ch chan<- *prometheus.Desc) {
	c.Collector.Describe(ch)
	ch <- c.desc
}

// Collect implements prometheus.Collector.
func (c *distributionCollector[T]) Collect(ch chan<- prometheus.Metric) {
	c.Collector.Collect(ch)
	tags := len(c.family.labels)
	for key, t := range *c.series.byTags.Load() {
		ch <- prometheus.MustNewConstMetric(c.desc, prometheus.GaugeValue, c.max(t), key[:tags]...)
	}
}
