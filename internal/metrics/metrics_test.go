// SPDX-License-Identifier: Apache-2.0

package metrics

import (
	"bytes"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	"go.uber.org/goleak"

	"example.org/app/internal/role"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// clock is a manual clock.
type clock struct {
	mu  sync.Mutex
	now time.Time
}

func newClock() *clock { return &clock{now: time.Unix(1_700_000_000, 0)} }

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *clock) Advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

// empty returns a registry without declarations.
func empty(options ...Option) *Registry {
	r := &Registry{
		prom:     prometheus.NewPedanticRegistry(),
		families: make(map[string]*family),
		exposed:  make(map[string]exposedName),
	}
	WithClock(newClock().Now)(r)
	for _, option := range options {
		option(r)
	}
	return r
}

// filled returns a registry with one metric of each kind and fixed values.
func filled() *Registry {
	r := empty()
	r.Gauge(Declaration{Name: "a.gauge", Description: "A gauge.", BaseUnit: UnitBytes}).Set(1536)
	r.Gauge(Declaration{Name: "b.cpu-usage", Description: "A ratio.", BaseUnit: PerTenThousand}).Set(0.25)
	c := r.CounterVec(Declaration{Name: "c.counter", Description: "A counter.", Tags: []string{"zone", "id"}})
	c.With("west", "2").Add(2)
	c.With("east", "1").Inc()
	c.With(`comma, "quote"`, `semi;colon\`).Inc()
	t := r.TimerVec(Declaration{Name: "d.timer", Description: "A timer.", Tags: []string{"uri"}})
	t.With("/b").Observe(2 * time.Second)
	t.With("/a").Observe(250 * time.Millisecond)
	t.With("/a").Observe(750 * time.Millisecond)
	s := r.DistributionSummary(Declaration{Name: "e.summary", Description: "A summary.", BaseUnit: UnitBytes})
	s.Observe(100)
	s.Observe(300)
	r.DistributionSummary(Declaration{
		Name: "f.sizes", Description: "A summary with bounds.", BaseUnit: UnitBytes, Buckets: []float64{10, 100},
	}).Observe(50)
	r.CounterVec(Declaration{Name: "g.nothing", Description: "Has no series.", Tags: []string{"id"}})
	return r
}

// snapshot returns the named metrics of a registry.
func snapshot(t testing.TB, r *Registry, names []string) []Metric {
	t.Helper()
	metrics, err := r.Snapshot(names)
	if err != nil {
		t.Fatal(err)
	}
	return metrics
}

func TestSnapshot(t *testing.T) {
	got := snapshot(t, filled(), nil)
	single := func(statistic string, v float64, tags ...Tag) Meter {
		return Meter{Tags: tags, Values: []Measurement{{statistic, v}}}
	}
	distribution := func(count, total, highest float64, tags ...Tag) Meter {
		return Meter{Tags: tags, Values: []Measurement{{"count", count}, {"total", total}, {"max", highest}}}
	}
	want := []Metric{
		{"a.gauge", "A gauge.", "bytes", TypeGauge, []Meter{single("value", 1536)}},
		{"b.cpu-usage", "A ratio.", "‱", TypeGauge, []Meter{single("value", 0.25)}},
		{"c.counter", "A counter.", "", TypeCounter, []Meter{
			single("count", 1, Tag{"id", "1"}, Tag{"zone", "east"}),
			single("count", 2, Tag{"id", "2"}, Tag{"zone", "west"}),
			single("count", 1, Tag{"id", `semi;colon\`}, Tag{"zone", `comma, "quote"`}),
		}},
		{"d.timer", "A timer.", "seconds", TypeTimer, []Meter{
			distribution(2, 1, 0.75, Tag{"uri", "/a"}),
			distribution(1, 2, 2, Tag{"uri", "/b"}),
		}},
		{"e.summary", "A summary.", "bytes", TypeDistributionSummary, []Meter{distribution(2, 400, 300)}},
		{"f.sizes", "A summary with bounds.", "bytes", TypeDistributionSummary, []Meter{distribution(1, 50, 50)}},
		{"g.nothing", "Has no series.", "", TypeCounter, nil},
	}
	if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("snapshot (-want +got):\n%s", diff)
	}
}

func TestSnapshotOfNames(t *testing.T) {
	for _, c := range []struct {
		names []string
		want  []string
	}{
		{[]string{"d.timer", "a.gauge", "unknown", "a.gauge"}, []string{"a.gauge", "d.timer"}},
		{[]string{"unknown"}, nil},
		{[]string{}, nil},
	} {
		got := snapshot(t, filled(), c.names)
		var names []string
		for _, m := range got {
			names = append(names, m.Name)
		}
		if !slices.Equal(names, c.want) {
			t.Errorf("Snapshot(%q) has names %q, want %q", c.names, names, c.want)
		}
	}
}

func TestCSV(t *testing.T) {
	const want = `Name,Tags,Type,Value,Unit
a.gauge,,GAUGE,1536,bytes
b.cpu-usage,,GAUGE,0.25,‱
c.counter,id:1;zone:east,COUNTER,1,
c.counter,id:2;zone:west,COUNTER,2,
c.counter,"id:semi\;colon\\;zone:comma, ""quote""",COUNTER,1,
d.timer,uri:/a;statistic:count,TIMER,2,
d.timer,uri:/a;statistic:max,TIMER,0.75,seconds
d.timer,uri:/a;statistic:total,TIMER,1,seconds
d.timer,uri:/b;statistic:count,TIMER,1,
d.timer,uri:/b;statistic:max,TIMER,2,seconds
d.timer,uri:/b;statistic:total,TIMER,2,seconds
e.summary,statistic:count,DISTRIBUTION_SUMMARY,2,
e.summary,statistic:max,DISTRIBUTION_SUMMARY,300,bytes
e.summary,statistic:total,DISTRIBUTION_SUMMARY,400,bytes
f.sizes,statistic:count,DISTRIBUTION_SUMMARY,1,
f.sizes,statistic:max,DISTRIBUTION_SUMMARY,50,bytes
f.sizes,statistic:total,DISTRIBUTION_SUMMARY,50,bytes`
	var buf bytes.Buffer
	if err := WriteCSV(&buf, snapshot(t, filled(), nil)); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, buf.String()); diff != "" {
		t.Errorf("csv (-want +got):\n%s", diff)
	}
	buf.Reset()
	if err := WriteCSV(&buf, snapshot(t, filled(), []string{"unknown"})); err != nil {
		t.Fatal(err)
	}
	if got := buf.String(); got != "Name,Tags,Type,Value,Unit" {
		t.Errorf("csv of an unknown name is %q", got)
	}
}

func TestCSVNumber(t *testing.T) {
	for v, want := range map[float64]string{
		0: "0", 1.5: "1.5", 26992312320: "26992312320", 1e-6: "0.000001", 1e-12: "1e-12", 1e22: "1e+22",
		math.Inf(1): "+Inf", math.Inf(-1): "-Inf",
	} {
		if got := csvNumber(v); got != want {
			t.Errorf("csvNumber(%g) = %q, want %q", v, got, want)
		}
	}
}

func TestOpenMetrics(t *testing.T) {
	const want = `# HELP c_counter A counter.
# TYPE c_counter counter
c_counter_total{id="1",zone="east"} 1.0
c_counter_total{id="2",zone="west"} 2.0
c_counter_total{id="semi;colon\\",zone="comma, \"quote\""} 1.0
# HELP d_timer_seconds_max Recent maximum. A timer.
# TYPE d_timer_seconds_max gauge
d_timer_seconds_max{uri="/a"} 0.75
d_timer_seconds_max{uri="/b"} 2.0
# HELP e_summary_bytes A summary.
# TYPE e_summary_bytes summary
# UNIT e_summary_bytes bytes
e_summary_bytes_sum 400.0
e_summary_bytes_count 2
# EOF
`
	var buf bytes.Buffer
	names := []string{"c_counter_total", "e_summary_bytes_count", "d_timer_seconds_max", "unknown"}
	if err := filled().WritePrometheus(&buf, names); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, buf.String()); diff != "" {
		t.Errorf("text (-want +got):\n%s", diff)
	}
	buf.Reset()
	if err := filled().WritePrometheus(&buf, []string{}); err != nil {
		t.Fatal(err)
	}
	if got := buf.String(); got != "# EOF\n" {
		t.Errorf("text without names is %q", got)
	}
}

// TestRepresentationsAgree reads a complete registry through all four representations.
func TestRepresentationsAgree(t *testing.T) {
	// The clock stands still, so that the sampled numbers are the same for all four readings.
	r := New(BuildInfo{Version: "1.2.3"}, WithClock(newClock().Now))
	if err := r.RegisterProcess(t.TempDir()); err != nil {
		t.Fatal(err)
	}
	r.HTTP().Observe(role.Service, "GET", "/users", 200, 3*time.Millisecond)
	r.HTTP().Observe(role.Service, "DELETE", "/users", 404, time.Millisecond)
	r.Service().MessageSent.Add(7)

	metrics := snapshot(t, r, nil)
	var names []string
	for _, m := range metrics {
		names = append(names, m.Name)
	}
	if diff := cmp.Diff(r.Names(), names); diff != "" {
		t.Errorf("names and snapshot differ (-names +snapshot):\n%s", diff)
	}

	var csvText, promText bytes.Buffer
	if err := WriteCSV(&csvText, snapshot(t, r, nil)); err != nil {
		t.Fatal(err)
	}
	if err := r.WritePrometheus(&promText, nil); err != nil {
		t.Fatal(err)
	}
	lines := make(map[string]bool)
	for _, line := range strings.Split(csvText.String(), "\n") {
		lines[line] = true
	}
	if !strings.HasSuffix(promText.String(), "# EOF\n") {
		t.Error("the text does not end with # EOF")
	}
	parser := expfmt.NewTextParser(model.LegacyValidation)
	families, err := parser.TextToMetricFamilies(bytes.NewReader(promText.Bytes()))
	if err != nil {
		t.Fatalf("parse the text: %v", err)
	}
	for _, m := range metrics {
		if m.Name == "process.uptime" {
			continue // It never stands still.
		}
		f := r.families[m.Name]
		for _, meter := range m.Meters {
			for _, v := range meter.Values {
				if !hasSample(families, f, meter, v) {
					t.Errorf("%s %v: %s=%v is missing in the text", m.Name, meter.Tags, v.Statistic, v.Value)
				}
			}
			for _, fields := range csvLines(m, meter) {
				if line := strings.Join(fields, ","); !lines[line] {
					t.Errorf("csv has no line %q", line)
				}
			}
		}
	}
}

// hasSample looks for a value of the snapshot in the parsed text. The parser supports the older
// text format, in which the samples of a counter are a separate family without a type.
func hasSample(families map[string]*dto.MetricFamily, f *family, meter Meter, v Measurement) bool {
	name := f.exposition
	if v.Statistic == StatisticMax {
		name = f.maxExposition
	}
	for _, m := range families[name].GetMetric() {
		if diff := cmp.Diff(meter.Tags, tagsOf(f, m), cmpopts.EquateEmpty()); diff != "" {
			continue
		}
		var got float64
		switch {
		case m.Histogram != nil && v.Statistic == StatisticCount:
			got = float64(m.Histogram.GetSampleCount())
		case m.Histogram != nil:
			got = m.Histogram.GetSampleSum()
		case m.Untyped != nil:
			got = m.Untyped.GetValue()
		default:
			got = m.GetGauge().GetValue()
		}
		return got == v.Value || math.IsNaN(got) && math.IsNaN(v.Value)
	}
	return false
}

func TestMatchAndAvailableTags(t *testing.T) {
	r := New(BuildInfo{})
	r.HTTP().Observe(role.Service, "GET", "/a", 200, 1)
	r.HTTP().Observe(role.Service, "GET", "/b", 500, 1)
	r.HTTP().Observe(role.Service, "BREW", "", 99, 1)
	metrics := snapshot(t, r, []string{"http.server.requests"})
	m := metrics[0]
	wantTags := map[string][]string{
		"method": {"GET", "OTHER"}, "uri": {"/a", "/b", "UNKNOWN"},
		"status": {"200", "500", "UNKNOWN"}, "outcome": {"SERVER_ERROR", "SUCCESS", "UNKNOWN"},
		"role": {"SERVICE"},
	}
	if diff := cmp.Diff(wantTags, m.AvailableTags()); diff != "" {
		t.Errorf("available tags (-want +got):\n%s", diff)
	}
	for _, c := range []struct {
		tags []Tag
		want int
	}{
		{nil, 3},
		{[]Tag{{"method", "GET"}}, 2},
		{[]Tag{{"method", "GET"}, {"status", "500"}}, 1},
		{[]Tag{{"method", "PUT"}}, 0},
		{[]Tag{{"nosuch", "GET"}}, 0},
	} {
		if got := len(m.Match(c.tags).Meters); got != c.want {
			t.Errorf("Match(%v) keeps %d meters, want %d", c.tags, got, c.want)
		}
	}
	if len(m.Meters) != 3 {
		t.Error("Match changed its receiver")
	}
}

func TestParseTag(t *testing.T) {
	for _, c := range []struct {
		in   string
		want Tag
		ok   bool
	}{
		{"a:b", Tag{"a", "b"}, true},
		{"uri:http://x:1", Tag{"uri", "http://x:1"}, true},
		{"a:", Tag{"a", ""}, true},
		{"a", Tag{}, false},
		{":a", Tag{}, false},
		{"", Tag{}, false},
	} {
		got, err := ParseTag(c.in)
		if got != c.want || (err == nil) != c.ok {
			t.Errorf("ParseTag(%q) = %v, %v", c.in, got, err)
		}
	}
}

func TestUnusualNumbers(t *testing.T) {
	r := empty()
	for name, v := range map[string]float64{"nan": math.NaN(), "inf": math.Inf(1), "neg": math.Inf(-1)} {
		r.GaugeFunc(Declaration{Name: name, Description: "Unusual."}, func() float64 { return v })
	}
	metrics := snapshot(t, r, nil)
	inf, _ := metrics[0].Meters[0].Value(StatisticValue)
	nan, _ := metrics[1].Meters[0].Value(StatisticValue)
	neg, _ := metrics[2].Meters[0].Value(StatisticValue)
	if !math.IsInf(inf, 1) || !math.IsNaN(nan) || !math.IsInf(neg, -1) {
		t.Errorf("got inf=%v nan=%v neg=%v", inf, nan, neg)
	}
	if _, ok := metrics[0].Meters[0].Value(StatisticMax); ok {
		t.Error("a gauge has a maximum")
	}
	var buf bytes.Buffer
	if err := WriteCSV(&buf, snapshot(t, r, nil)); err != nil {
		t.Fatal(err)
	}
	if want := "Name,Tags,Type,Value,Unit\ninf,,GAUGE,+Inf,\nnan,,GAUGE,NaN,\nneg,,GAUGE,-Inf,"; buf.String() != want {
		t.Errorf("csv is %q, want %q", buf.String(), want)
	}
}

func TestBadObservationsAreIgnored(t *testing.T) {
	r := empty()
	c := r.Counter(Declaration{Name: "c", Description: "Counts."})
	c.Add(-1)
	c.Add(math.NaN())
	s := r.DistributionSummary(Declaration{Name: "s", Description: "Sums."})
	s.Observe(-1)
	s.Observe(math.NaN())
	tm := r.Timer(Declaration{Name: "t", Description: "Times."})
	tm.Observe(-time.Second)
	metrics := snapshot(t, r, nil)
	want := [][]Measurement{{{"count", 0}}, {{"count", 0}, {"total", 0}, {"max", 0}}, {{"count", 1}, {"total", 0}, {"max", 0}}}
	for i, m := range metrics {
		if diff := cmp.Diff(want[i], m.Meters[0].Values); diff != "" {
			t.Errorf("%s (-want +got):\n%s", m.Name, diff)
		}
	}
}

func TestTimerMaxDecays(t *testing.T) {
	c := newClock()
	r := empty(WithClock(c.Now))
	timer := r.Timer(Declaration{Name: "t", Description: "Times."})
	highest := func() float64 {
		metrics := snapshot(t, r, nil)
		v, _ := metrics[0].Meters[0].Value(StatisticMax)
		return v
	}
	for _, step := range []struct {
		advance time.Duration
		observe time.Duration
		want    float64
	}{
		{0, 5 * time.Second, 5},
		{time.Second, 3 * time.Second, 5},
		{60 * time.Second, 2 * time.Second, 5},
		{40 * time.Second, 0, 5},
		{30 * time.Second, 0, 2},
		{45 * time.Second, time.Second, 2},
		{30 * time.Second, 0, 1},
		{10 * time.Minute, 0, 0},
		{0, 4 * time.Second, 4},
	} {
		c.Advance(step.advance)
		if step.observe > 0 {
			timer.Observe(step.observe)
		}
		if got := highest(); got != step.want {
			t.Errorf("after %v more and %v observed the maximum is %v, want %v", step.advance, step.observe, got, step.want)
		}
	}
}

func TestConcurrentUse(t *testing.T) {
	r := New(BuildInfo{})
	if err := r.RegisterProcess(t.TempDir()); err != nil {
		t.Fatal(err)
	}
	const workers, rounds = 8, 200
	var wg sync.WaitGroup
	for w := range workers {
		wg.Go(func() {
			for i := range rounds {
				r.HTTP().Observe(role.Service, "GET", fmt.Sprintf("/%d", i%20), 200, time.Duration(i))
				r.Service().MessageSent.Inc()
				r.Gateway().UserOnline.Add(1)
				if i%50 == 0 {
					if _, err := r.Snapshot(nil); err != nil {
						t.Error(err)
					}
					if err := r.WritePrometheus(&bytes.Buffer{}, nil); err != nil {
						t.Error(err)
					}
				}
			}
			r.Gauge(Declaration{Name: fmt.Sprintf("late.g%d", w), Description: "Declared while others read."})
		})
	}
	wg.Wait()
	metrics := snapshot(t, r, []string{"http.server.requests", "message.sent", "user.online"})
	var requests float64
	for _, meter := range metrics[0].Meters {
		n, _ := meter.Value(StatisticCount)
		requests += n
	}
	sent, _ := metrics[1].Meters[0].Value(StatisticCount)
	online, _ := metrics[2].Meters[0].Value(StatisticValue)
	if requests != workers*rounds || sent != workers*rounds || online != workers*rounds {
		t.Errorf("requests=%v sent=%v online=%v, want %d each", requests, sent, online, workers*rounds)
	}
}
