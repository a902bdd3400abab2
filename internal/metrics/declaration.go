// SPDX-License-Identifier: Apache-2.0

package metrics

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
)

// Type is the kind of a metric as spelled in CSV.
type Type string

// The kinds of metrics. Readers know LongTaskTimer and Other, too; no instrument of this package
// has these kinds.
const (
	TypeCounter             Type = "COUNTER"
	TypeGauge               Type = "GAUGE"
	TypeTimer               Type = "TIMER"
	TypeDistributionSummary Type = "DISTRIBUTION_SUMMARY"
	TypeLongTaskTimer       Type = "LONG_TASK_TIMER"
	TypeOther               Type = "OTHER"
)

// Base units that readers know. PerTenThousand is the label of CPU ratios, although their values
// are plain ratios between 0 and 1.
const (
	UnitBytes      = "bytes"
	UnitSeconds    = "seconds"
	PerTenThousand = "‱"
)

// Declaration describes one metric for all representations.
type Declaration struct {
	// Name is dotted and lower case, such as "http.server.requests".
	Name string
	// Description is one or more sentences for the reader of the metric.
	Description string
	// BaseUnit is empty if the metric is a plain number. Timers always have the unit "seconds".
	BaseUnit string
	// Tags are the keys of every series of the metric, in the order of the arguments of With.
	Tags []string
	// Buckets are the upper bounds of the exposed histogram. Timers have default bounds; a
	// distribution summary without bounds exposes count and sum only.
	Buckets []float64
}

// maxTags is the maximum number of tags of a metric, so that a series can be looked up by an array
// without allocating.
const maxTags = 6

var (
	namePattern = regexp.MustCompile(`^[a-z][a-zA-Z0-9]*([._-][a-zA-Z0-9]+)*$`)
	unitPattern = regexp.MustCompile(`^[a-z]+$`)
)

// reservedTags have a meaning in the Prometheus text or in CSV.
var reservedTags = []string{"le", "quantile", "statistic"}

// defaultBuckets cover the durations of requests: from half a millisecond to ten seconds.
var defaultBuckets = []float64{
	0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10,
}

// family is a validated declaration with its derived names.
type family struct {
	Declaration
	kind          Type
	exposition    string
	maxExposition string // timers and distribution summaries only
	labels        []string
	keyOf         map[string]string // label → tag key
}

func newFamily(d Declaration, kind Type) (*family, error) {
	if !namePattern.MatchString(d.Name) {
		return nil, errors.New("the name must consist of letters and digits joined by dots, dashes or underscores")
	}
	if d.Description == "" {
		return nil, errors.New("the description is missing")
	}
	if len(d.Tags) > maxTags {
		return nil, fmt.Errorf("%d tags are declared, at most %d are allowed", len(d.Tags), maxTags)
	}
	if kind == TypeTimer {
		d.BaseUnit = UnitSeconds
		if d.Buckets == nil {
			d.Buckets = defaultBuckets
		}
	}
	f := &family{Declaration: d, kind: kind, keyOf: make(map[string]string, len(d.Tags))}
	f.Tags = slices.Clone(d.Tags)
	for _, key := range d.Tags {
		label := underscored(key)
		switch {
		case !namePattern.MatchString(key):
			return nil, fmt.Errorf("the tag key %q must consist of letters and digits joined by dots, dashes or underscores", key)
		case slices.Contains(reservedTags, key):
			return nil, fmt.Errorf("the tag key %q is reserved", key)
		case f.keyOf[label] != "":
			return nil, fmt.Errorf("the tag keys %q and %q share the label %q", f.keyOf[label], key, label)
		}
		f.keyOf[label] = key
		f.labels = append(f.labels, label)
	}
	f.exposition = expositionName(d.Name, d.BaseUnit, kind)
	if kind == TypeTimer || kind == TypeDistributionSummary {
		f.maxExposition = f.exposition + "_max"
	}
	return f, nil
}

// expositionName derives the Prometheus name: underscores, the unit unless the name ends with it
// already, and "_total" for counters. Units that are not a word, such as the per-ten-thousand sign,
// are omitted.
func expositionName(name, unit string, kind Type) string {
	s := underscored(name)
	if kind == TypeCounter {
		s = strings.TrimSuffix(s, "_total")
	}
	if unitPattern.MatchString(unit) && !strings.HasSuffix(s, "_"+unit) {
		s += "_" + unit
	}
	if kind == TypeCounter {
		s += "_total"
	}
	return s
}

func underscored(s string) string {
	return strings.NewReplacer(".", "_", "-", "_").Replace(s)
}

// exposedUnit returns the unit for the OpenMetrics text, which the family's name must end with;
// empty if there is none.
func (f *family) exposedUnit() string {
	if unitPattern.MatchString(f.BaseUnit) {
		return f.BaseUnit
	}
	return ""
}

func (f *family) opts() prometheus.Opts {
	return prometheus.Opts{Name: f.exposition, Help: f.Description, Unit: f.exposedUnit()}
}

func (f *family) desc() *prometheus.Desc {
	return prometheus.V2.NewDesc(f.exposition, f.Description, prometheus.UnconstrainedLabels(f.labels), nil,
		prometheus.WithUnit(f.exposedUnit()))
}

func (f *family) maxDesc() *prometheus.Desc {
	return prometheus.NewDesc(f.maxExposition, "Recent maximum. "+f.Description, f.labels, nil)
}

// mustHaveNoTags panics if the declaration of an instrument with a single series has tags.
func (d Declaration) mustHaveNoTags() {
	if len(d.Tags) > 0 {
		panic(fmt.Sprintf("metrics: declare %q: an instrument with tags needs the Vec form", d.Name))
	}
}
