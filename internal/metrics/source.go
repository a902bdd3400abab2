// SPDX-License-Identifier: Apache-2.0

package metrics

import (
	"fmt"
	"slices"

	"github.com/prometheus/client_golang/prometheus"
)

// source is a collector whose values are computed when they are read. A source may have many
// families, so that one reading of the origin serves all of them.
type source struct {
	descs   []*prometheus.Desc
	collect func(emit emitter)
}

// Describe implements prometheus.Collector.
func (s *source) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range s.descs {
		ch <- d
	}
}

// Collect implements prometheus.Collector.
func (s *source) Collect(ch chan<- prometheus.Metric) { s.collect(emitter{ch}) }

// reading is a family of a source.
type reading struct {
	family *family
	desc   *prometheus.Desc
	max    *prometheus.Desc
}

// emitter passes computed values to the registry.
type emitter struct{ ch chan<- prometheus.Metric }

func (e emitter) value(rd *reading, v float64, tags ...string) {
	kind := prometheus.GaugeValue
	if rd.family.kind == TypeCounter {
		kind = prometheus.CounterValue
	}
	e.ch <- prometheus.MustNewConstMetric(rd.desc, kind, v, tags...)
}

// timings is the state of a timer that is recorded elsewhere.
type timings struct {
	count   uint64
	total   float64
	max     float64
	buckets map[float64]uint64 // cumulative
}

func (e emitter) timings(rd *reading, t timings, tags ...string) {
	e.ch <- prometheus.MustNewConstHistogram(rd.desc, t.count, t.total, t.buckets, tags...)
	e.ch <- prometheus.MustNewConstMetric(rd.max, prometheus.GaugeValue, t.max, tags...)
}

// reading declares a family of a source.
func (r *Registry) reading(d Declaration, kind Type) *reading {
	f := r.declare(d, kind)
	rd := &reading{family: f, desc: f.desc()}
	if f.maxExposition != "" {
		rd.max = f.maxDesc()
	}
	return rd
}

// source registers the collector of the given readings.
func (r *Registry) source(readings []*reading, collect func(emit emitter)) {
	s := &source{collect: collect}
	for _, rd := range readings {
		s.descs = append(s.descs, rd.desc)
		if rd.max != nil {
			s.descs = append(s.descs, rd.max)
		}
	}
	r.register(s, readings[0].family.Name)
}

// GaugeFunc declares a gauge without tags whose value is read for every gathering. The function
// must be quick, must not block and may be called concurrently.
func (r *Registry) GaugeFunc(d Declaration, value func() float64) {
	d.mustHaveNoTags()
	rd := r.reading(d, TypeGauge)
	r.source([]*reading{rd}, func(emit emitter) { emit.value(rd, value()) })
}

// CounterFunc is GaugeFunc for a counter.
func (r *Registry) CounterFunc(d Declaration, value func() float64) {
	d.mustHaveNoTags()
	rd := r.reading(d, TypeCounter)
	r.source([]*reading{rd}, func(emit emitter) { emit.value(rd, value()) })
}

// GaugeVecFunc declares a gauge with tags whose series are read for every gathering. The function
// calls emit once per series with the tag values in the order of the declared keys; it must not
// emit a series twice.
func (r *Registry) GaugeVecFunc(d Declaration, values func(emit func(v float64, tags ...string))) {
	rd := r.reading(d, TypeGauge)
	r.source([]*reading{rd}, func(emit emitter) {
		values(func(v float64, tags ...string) { emit.value(rd, v, tags...) })
	})
}

// Reading is one number of a package that keeps its own statistics.
type Reading struct {
	// Key is the key of the number in the package's map; the metric is named prefix + "." + Key.
	Key         string
	Description string
	BaseUnit    string
	// Type is TypeGauge or TypeCounter.
	Type Type
}

// RegisterReadings publishes the statistics of a package below a prefix. The function read is
// called once for each gathering, must be quick, must not block and may be called concurrently. A
// key that is missing in its result has no series in that gathering; an undeclared key is ignored.
func (r *Registry) RegisterReadings(prefix string, readings []Reading, read func() map[string]float64) {
	own := make([]*reading, 0, len(readings))
	keys := make([]string, 0, len(readings))
	for _, rd := range readings {
		if rd.Type != TypeGauge && rd.Type != TypeCounter {
			panic(fmt.Sprintf("metrics: declare %q: a reading is a gauge or a counter, not %q", prefix+"."+rd.Key, rd.Type))
		}
		own = append(own, r.reading(Declaration{
			Name: prefix + "." + rd.Key, Description: rd.Description, BaseUnit: rd.BaseUnit,
		}, rd.Type))
		keys = append(keys, rd.Key)
	}
	if len(own) == 0 {
		return
	}
	r.source(slices.Clip(own), func(emit emitter) {
		values := read()
		for i, key := range keys {
			if v, ok := values[key]; ok {
				emit.value(own[i], v)
			}
		}
	})
}

// RegisterStore publishes the statistics of the data store as store.* metrics; see
// RegisterReadings.
func (r *Registry) RegisterStore(readings []Reading, read func() map[string]float64) {
	r.RegisterReadings("store", readings, read)
}
