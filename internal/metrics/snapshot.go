// SPDX-License-Identifier: Apache-2.0

package metrics

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	dto "github.com/prometheus/client_model/go"
)

// Keys of the values of a meter.
const (
	StatisticValue = "value" // gauges
	StatisticCount = "count" // counters, timers, distribution summaries
	StatisticTotal = "total" // timers, distribution summaries
	StatisticMax   = "max"   // timers, distribution summaries
)

// Tag is a key and a value that identify a series of a metric.
type Tag struct{ Key, Value string }

// String returns the tag as "key:value".
func (t Tag) String() string { return t.Key + ":" + t.Value }

// ParseTag parses "key:value". The value may contain colons.
func ParseTag(s string) (Tag, error) {
	key, value, ok := strings.Cut(s, ":")
	if !ok || key == "" {
		return Tag{}, fmt.Errorf("parse tag %q: a tag has the form key:value", s)
	}
	return Tag{key, value}, nil
}

// Measurement is one value of a meter.
type Measurement struct {
	Statistic string
	Value     float64
}

// Meter is one series of a metric: its tags, sorted by key, and its values in the order value, or
// count, total, max. Values are unmodified, including NaN and infinities.
type Meter struct {
	Tags   []Tag
	Values []Measurement
}

// Value returns the value with the given statistic.
func (m Meter) Value(statistic string) (float64, bool) {
	for _, v := range m.Values {
		if v.Statistic == statistic {
			return v.Value, true
		}
	}
	return 0, false
}

// Metric is the state of one declared metric. Its meters are sorted by their tags.
type Metric struct {
	Name, Description, BaseUnit string
	Type                        Type
	Meters                      []Meter
}

// Match returns the metric with only those meters that have all the given tags.
func (m Metric) Match(tags []Tag) Metric {
	if len(tags) == 0 {
		return m
	}
	var kept []Meter
	for _, meter := range m.Meters {
		if !slices.ContainsFunc(tags, func(t Tag) bool { return !slices.Contains(meter.Tags, t) }) {
			kept = append(kept, meter)
		}
	}
	m.Meters = kept
	return m
}

// AvailableTags returns the sorted values of each tag key in the metric's meters.
func (m Metric) AvailableTags() map[string][]string {
	available := make(map[string][]string)
	for _, meter := range m.Meters {
		for _, t := range meter.Tags {
			available[t.Key] = append(available[t.Key], t.Value)
		}
	}
	for key, values := range available {
		slices.Sort(values)
		available[key] = slices.Compact(values)
	}
	return available
}

// Snapshot returns the named metrics, or all of them if names is nil, sorted by name. Unknown names
// are skipped; a declared metric without series is returned without meters.
func (r *Registry) Snapshot(names []string) ([]Metric, error) {
	gathered, err := r.prom.Gather()
	if err != nil {
		return nil, fmt.Errorf("gather metrics: %w", err)
	}
	r.mu.RLock()
	defer r.mu.RUnlock()
	metrics := make(map[string]*Metric, len(r.families))
	for name, f := range r.families {
		if names == nil || slices.Contains(names, name) {
			metrics[name] = &Metric{Name: name, Description: f.Description, BaseUnit: f.BaseUnit, Type: f.kind}
		}
	}
	maxima := make(map[string]map[string]float64)
	for _, mf := range gathered {
		owner := r.exposed[mf.GetName()]
		metric, wanted := metrics[owner.family.Name]
		if !wanted {
			continue
		}
		if owner.isMax {
			maxima[metric.Name] = maximaOf(owner.family, mf)
			continue
		}
		for _, m := range mf.GetMetric() {
			metric.Meters = append(metric.Meters, Meter{Tags: tagsOf(owner.family, m), Values: valuesOf(m)})
		}
	}
	result := make([]Metric, 0, len(metrics))
	for _, metric := range metrics {
		if byTags, ok := maxima[metric.Name]; ok {
			for i := range metric.Meters {
				meter := &metric.Meters[i]
				// A series that appeared between the two collections has no maximum yet.
				meter.Values = append(meter.Values, Measurement{StatisticMax, byTags[joinTags(meter.Tags)]})
			}
		}
		slices.SortFunc(metric.Meters, func(a, b Meter) int {
			return slices.CompareFunc(a.Tags, b.Tags, func(a, b Tag) int {
				return cmp.Or(cmp.Compare(a.Key, b.Key), cmp.Compare(a.Value, b.Value))
			})
		})
		result = append(result, *metric)
	}
	slices.SortFunc(result, func(a, b Metric) int { return cmp.Compare(a.Name, b.Name) })
	return result, nil
}

func maximaOf(f *family, mf *dto.MetricFamily) map[string]float64 {
	byTags := make(map[string]float64, len(mf.GetMetric()))
	for _, m := range mf.GetMetric() {
		byTags[joinTags(tagsOf(f, m))] = m.GetGauge().GetValue()
	}
	return byTags
}

func tagsOf(f *family, m *dto.Metric) []Tag {
	if len(m.GetLabel()) == 0 {
		return nil
	}
	tags := make([]Tag, 0, len(m.GetLabel()))
	for _, label := range m.GetLabel() {
		tags = append(tags, Tag{f.keyOf[label.GetName()], label.GetValue()})
	}
	slices.SortFunc(tags, func(a, b Tag) int { return cmp.Compare(a.Key, b.Key) })
	return tags
}

func valuesOf(m *dto.Metric) []Measurement {
	switch {
	case m.Counter != nil:
		return []Measurement{{StatisticCount, m.Counter.GetValue()}}
	case m.Histogram != nil:
		return []Measurement{
			{StatisticCount, float64(m.Histogram.GetSampleCount())},
			{StatisticTotal, m.Histogram.GetSampleSum()},
		}
	case m.Summary != nil:
		return []Measurement{
			{StatisticCount, float64(m.Summary.GetSampleCount())},
			{StatisticTotal, m.Summary.GetSampleSum()},
		}
	default:
		return []Measurement{{StatisticValue, m.GetGauge().GetValue()}}
	}
}
