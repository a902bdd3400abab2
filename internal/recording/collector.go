// SPDX-License-Identifier: Apache-2.0

package recording

import (
	"bytes"
	"log/slog"
	"math"
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"runtime/pprof"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/pprof/profile"
	"github.com/shirou/gopsutil/v4/cpu"
	"github.com/shirou/gopsutil/v4/host"
	"github.com/shirou/gopsutil/v4/mem"

	"example.org/app/internal/recording/event"
	"example.org/app/internal/recording/jfr"
	"example.org/app/internal/rusage"
)

// maxChunk is the maximum size of a chunk. A chunk that reaches it ends early; events before it has
// ended are dropped.
const maxChunk = 4 << 20

// A collector fills chunks with events, from its creation until stop. Events of the server's parts
// are added in their own goroutines; everything else happens in the goroutine that calls the
// methods, one at a time.
type collector struct {
	logger   *slog.Logger
	facts    func() []Fact
	settings settings

	subscription *event.Subscription
	// unlabel ends the labelling of goroutines; nil while none are labelled.
	unlabel func()
	cpu     cpuProfile
	// profiles are the CPU profiles of the chunk.
	profiles  []*profile.Profile
	trace     flightTrace
	frames    frames
	blocked   delta
	contended delta
	allocated allocations
	symbols   symbols
	// last is when events with a period were last recorded.
	last map[string]time.Time
	load cpuTimes
	gcs  int64
	// heapBefore is the heap at the last look.
	heapBefore int64
	thin       int
	// blockRate is the rate of the block profile, as in [runtime.SetBlockProfileRate]; waitTurn
	// counts the seconds.
	blockRate, waitTurn int
	// stacks has a bit for each kind of event that is recorded with its stack.
	stacks atomic.Uint32

	mu      sync.Mutex
	chunk   *jfr.Chunk
	dropped int
	full    chan<- struct{}
}

// A Fact is a setting or another value that recordings show by name. Its value must not be secret.
type Fact struct{ Key, Value string }

// newCollector starts collecting. full is signalled when the chunk should be ended.
func newCollector(logger *slog.Logger, facts func() []Fact, s settings, full chan<- struct{}, now time.Time) *collector {
	c := &collector{
		logger: logger, facts: facts, full: full, last: map[string]time.Time{}, chunk: schema.NewChunk(now),
		blocked: delta{name: "block"}, contended: delta{name: "mutex"},
	}
	c.load = readCPU()
	var gc debug.GCStats
	debug.ReadGCStats(&gc)
	c.gcs = gc.NumGC
	c.heapBefore = int64(readMetric("/memory/classes/heap/objects:bytes"))
	c.configure(s, now)
	return c
}

// configure changes what is collected. All events with a period are due again.
func (c *collector) configure(s settings, now time.Time) {
	c.settings = s
	clear(c.last)
	var stacks uint32
	for k, own := range ownTypes {
		if s[own.Name].stackTrace {
			stacks |= 1 << k
		}
	}
	c.stacks.Store(stacks)
	s.allow()
	previous := c.subscription
	c.subscription = event.Subscribe(s.thresholds(), c.record)
	if previous != nil {
		previous.Cancel()
	}
	c.waitTurn = 0
	c.sampleWaits()
	fraction := 0
	if e := s[typeContended.Name]; e.enabled {
		fraction = 100
		if e.threshold < 10*time.Millisecond {
			fraction = 10
		}
	}
	runtime.SetMutexProfileFraction(fraction)
	if s[typeExecutionSample.Name].enabled {
		if c.unlabel == nil {
			c.unlabel = event.BeginProfiling()
		}
		if !c.cpu.running {
			c.startCPU(now)
		}
	} else if p, err := c.cpu.stop(); err == nil {
		c.addSamples(p, now)
	}
	if !s[executionTrace].enabled {
		c.trace.stop()
	} else if err := c.trace.start(); err != nil {
		c.logger.Warn("flight recordings have no execution trace", "error", err)
	}
	c.deltas(now, false)
}

// waitTurns returns in one of how many seconds waits are sampled. During sampling each wait reads
// the clock twice, which is too expensive for a permanent recording.
func waitTurns(e eventSetting) int {
	if e.threshold < 10*time.Millisecond {
		return 1
	}
	return 5
}

// sampleWaits sets how many waits of goroutines are sampled in the next second.
func (c *collector) sampleWaits() {
	e, rate := c.settings[typeBlocked.Name], 0
	if c.waitTurn%waitTurns(e) == 0 {
		rate = blockRate(e, runtime.NumGoroutine())
	}
	c.waitTurn++
	if rate != c.blockRate {
		c.blockRate = rate
		runtime.SetBlockProfileRate(rate)
	}
}

// blockRate returns the rate of the block profile in nanoseconds: on average one wait is sampled
// per that much waiting time, and each that is as long. Goroutines of a busy server wait all the
// time, so a rate near the threshold would cost more than everything else: waits that total the
// threshold are sampled with a probability of a hundredth. Many waiting goroutines are sampled a
// thousand times a second in total. The runtime scales samples by the rate.
func blockRate(e eventSetting, goroutines int) int {
	if !e.enabled {
		return 0
	}
	rate := min(max(100*e.threshold, time.Millisecond), time.Second)
	// In powers of two, so that the rate does not change with each goroutine.
	for rate < time.Duration(goroutines)*time.Millisecond {
		rate *= 2
	}
	return int(rate)
}

// stop ends the collection. The chunk can still be taken.
func (c *collector) stop(now time.Time) {
	c.subscription.Cancel()
	c.sample(now)
	if c.cpu.running {
		_, _ = c.cpu.stop()
	}
	if c.unlabel != nil {
		c.unlabel()
	}
	c.trace.stop()
	runtime.SetBlockProfileRate(0)
	runtime.SetMutexProfileFraction(0)
}

// takeCPU returns the CPU profile of the chunk; nil if there is none.
func (c *collector) takeCPU() ([]byte, error) {
	p, err := mergeProfiles(c.profiles)
	c.profiles = c.profiles[:0]
	if p == nil || err != nil {
		return nil, err
	}
	return encodeProfile(p)
}

// take ends the chunk and begins another one. It returns the chunk and its CPU profile, which may
// be nil.
func (c *collector) take(now time.Time) (data, cpu []byte) {
	c.deltas(now, true)
	cpu, err := c.takeCPU()
	if err != nil {
		c.logger.Warn("a CPU profile of a flight recording is lost", "error", err)
	}
	c.mu.Lock()
	dropped := c.dropped
	data = c.chunk.Finish(now)
	c.chunk, c.dropped = schema.NewChunk(now), 0
	c.mu.Unlock()
	if dropped > 0 {
		c.logger.Warn("flight recordings lost events because they came too fast", "events", dropped)
	}
	return data, cpu
}

// add adds an event.
func (c *collector) add(t *eventType, start time.Time, took time.Duration, values ...jfr.Value) {
	c.mu.Lock()
	defer c.mu.Unlock()
	size := c.chunk.Size()
	if size > maxChunk {
		c.dropped++
		return
	}
	c.chunk.Add(&t.Type, start, took, values...)
	if size <= maxChunk/2 && c.chunk.Size() > maxChunk/2 {
		select {
		case c.full <- struct{}{}:
		default: // It has been told.
		}
	}
}

// due reports whether a periodic event must be recorded now.
func (c *collector) due(t *eventType, now time.Time) bool {
	e := c.settings[t.Name]
	if !e.enabled {
		return false
	}
	// Ticks come a little early or late.
	if last, ok := c.last[t.Name]; ok && now.Sub(last) < e.period-e.period/20 {
		return false
	}
	c.last[t.Name] = now
	return true
}

// sample records the state of the runtime and the machine. It is called about once a second.
func (c *collector) sample(now time.Time) {
	c.settings.allow()
	c.sampleWaits()
	if c.cpu.running {
		since := c.cpu.since
		p, err := c.cpu.stop()
		if err != nil {
			c.logger.Warn("a CPU profile of a flight recording cannot be read", "error", err)
		}
		c.startCPU(time.Now())
		c.addSamples(p, since)
	} else if c.settings[typeExecutionSample.Name].enabled {
		c.startCPU(now)
	}
	c.collections()
	if c.due(typeCPULoad, now) {
		c.cpuLoad(now)
	}
	if c.due(typeMemory, now) {
		read := func(name string) jfr.Value { return jfr.Bytes(int64(readMetric(name))) }
		c.add(typeMemory, now, 0, read("/memory/classes/heap/objects:bytes"), read("/memory/classes/heap/free:bytes"),
			read("/memory/classes/heap/released:bytes"), read("/memory/classes/heap/stacks:bytes"), read("/memory/classes/total:bytes"), read("/gc/heap/goal:bytes"))
	}
	if c.due(typeGoroutines, now) {
		c.add(typeGoroutines, now, 0, jfr.Long(int64(runtime.NumGoroutine())))
	}
	if c.due(typeThreads, now) {
		c.add(typeThreads, now, 0, jfr.Long(int64(pprof.Lookup("threadcreate").Count())), jfr.Int(int32(runtime.GOMAXPROCS(0))))
	}
	c.rare(now)
}

// rare records what hardly changes.
func (c *collector) rare(now time.Time) {
	if c.due(typeThreadDump, now) {
		c.threadDump(now)
	}
	if c.due(typeOSInformation, now) {
		c.add(typeOSInformation, now, 0, jfr.String(osVersion()))
	}
	if c.due(typePhysicalMemory, now) {
		if m, err := mem.VirtualMemory(); err == nil {
			c.add(typePhysicalMemory, now, 0, jfr.Bytes(int64(m.Total)), jfr.Bytes(int64(m.Used)))
		}
	}
	if c.due(typeEnvironment, now) {
		for _, f := range environment(os.Environ()) {
			c.add(typeEnvironment, now, 0, jfr.String(f.Key), jfr.String(f.Value))
		}
	}
	if c.due(typeSystemProperty, now) {
		for _, f := range c.facts() {
			c.add(typeSystemProperty, now, 0, jfr.String(f.Key), jfr.String(f.Value))
		}
	}
}

func (c *collector) startCPU(now time.Time) {
	err := c.cpu.start(now)
	if err != nil && !c.cpu.failed {
		c.logger.Warn("flight recordings have no samples of the processors", "error", err)
	}
	c.cpu.failed = err != nil
}

// goroutineThread is the thread of samples whose goroutine is unknown.
const goroutineThread = "goroutines"

// addSamples adds the samples of a profile that began at a time. A profile counts samples by stack,
// so they are spread over its time.
func (c *collector) addSamples(p *profile.Profile, since time.Time) {
	e := c.settings[typeExecutionSample.Name]
	if p == nil || !e.enabled {
		return
	}
	c.profiles = append(c.profiles, p)
	if len(p.Sample) == 0 {
		return
	}
	var total int64
	for _, s := range p.Sample {
		total += s.Value[0]
	}
	// One of so many samples is kept.
	each := max(int(e.period/max(time.Duration(p.Period), time.Millisecond)), 1)
	step := time.Duration(p.DurationNanos / max(total, 1))
	at := since
	for _, s := range p.Sample {
		thread := goroutineThread
		if names := s.Label[event.LabelPlugin]; len(names) > 0 {
			thread = "plugin " + names[0]
		}
		stack := c.frames.of(s.Location)
		if names := s.Label[event.LabelFunction]; len(names) > 0 && inEngine(stack) {
			class, method, _ := strings.Cut(names[0], "#")
			stack = slices.Insert(stack, 0, jfr.Frame{Class: class, Method: method, Type: "JavaScript"})
		}
		for range s.Value[0] {
			if c.thin++; c.thin >= each {
				c.thin = 0
				c.add(typeExecutionSample, at, 0, jfr.Thread(thread), jfr.Stack(stack), jfr.Constant(jfr.KindThreadState, "STATE_RUNNABLE"))
			}
			at = at.Add(step)
		}
	}
}

// inEngine reports whether a stack is inside the JavaScript engine.
func inEngine(stack []jfr.Frame) bool {
	return len(stack) > 0 && slices.ContainsFunc(stack, func(f jfr.Frame) bool { return strings.HasPrefix(f.Class, "modernc_org/libquickjs") })
}

// collections records the garbage collections since the last check.
func (c *collector) collections() {
	var gc debug.GCStats
	debug.ReadGCStats(&gc)
	live, heap := int64(readMetric("/gc/heap/live:bytes")), int64(readMetric("/memory/classes/heap/objects:bytes"))
	committed := int64(readMetric("/memory/classes/heap/objects:bytes") + readMetric("/memory/classes/heap/free:bytes") + readMetric("/memory/classes/heap/unused:bytes"))
	before := max(c.heapBefore, live)
	c.heapBefore = heap
	fresh := min(int(gc.NumGC-c.gcs), len(gc.PauseEnd))
	collections, summaries := c.settings[typeGarbageCollection.Name], c.settings[typeGCHeapSummary.Name]
	for i := fresh - 1; i >= 0; i-- {
		id, end, pause := jfr.Int(int32(gc.NumGC-int64(i))), gc.PauseEnd[i], gc.Pause[i]
		start := end.Add(-pause)
		if collections.enabled && pause >= collections.threshold {
			c.add(typeGarbageCollection, start, pause, id, jfr.Constant(jfr.KindGCName, "Go"), jfr.Constant(jfr.KindGCCause, "Heap Goal"), jfr.Span(pause), jfr.Span(pause))
			c.add(typeOldCollection, start, pause, id)
		}
		if summaries.enabled {
			c.add(typeGCHeapSummary, start, 0, id, jfr.Constant(jfr.KindGCWhen, "Before GC"), jfr.Space(committed), jfr.Bytes(before))
			c.add(typeGCHeapSummary, end, 0, id, jfr.Constant(jfr.KindGCWhen, "After GC"), jfr.Space(committed), jfr.Bytes(live))
		}
	}
	c.gcs = gc.NumGC
}

// deltas records the increase of the cumulative profiles since the last check; without record it
// only updates its state.
func (c *collector) deltas(now time.Time, record bool) {
	waits := func(d *delta, t *eventType, turns int) {
		e := c.settings[t.Name]
		if !e.enabled {
			d.seen = nil
			return
		}
		if !record && d.seen != nil {
			return // What was counted so far is recorded with the chunk.
		}
		err := d.change([2]string{"delay", "contentions"}, func(locations []*profile.Location, grown [2]int64) {
			if delay := time.Duration(grown[0] * int64(turns)); record && delay >= e.threshold {
				c.add(t, now, 0, jfr.Span(delay), jfr.Long(grown[1]*int64(turns)), jfr.Stack(c.frames.of(locations)))
			}
		})
		if err != nil {
			c.logger.Warn("a profile of a flight recording cannot be read", "error", err)
		}
	}
	waits(&c.blocked, typeBlocked, waitTurns(c.settings[typeBlocked.Name]))
	waits(&c.contended, typeContended, 1)
	if !c.settings[typeAllocation.Name].enabled {
		c.allocated.seen = nil
		return
	}
	if !record && c.allocated.seen != nil {
		return
	}
	c.allocated.change(&c.symbols, func(stack []jfr.Frame, bytes int64) {
		if record {
			c.add(typeAllocation, now, 0, jfr.Thread(goroutineThread), jfr.Stack(stack), jfr.Class("go/Object"), jfr.Bytes(bytes))
		}
	})
}

// maxThreadDump bounds a dump of all goroutines.
const maxThreadDump = 1 << 20

func (c *collector) threadDump(now time.Time) {
	var b bytes.Buffer
	const withCounts = 1
	if err := pprof.Lookup("goroutine").WriteTo(&b, withCounts); err != nil {
		return
	}
	text := b.Bytes()
	c.add(typeThreadDump, now, 0, jfr.String(strings.ToValidUTF8(string(text[:min(len(text), maxThreadDump)]), "")))
}

// cpuTimes are seconds of processors since some beginning.
type cpuTimes struct {
	at            time.Time
	user, system  float64
	machine, idle float64
}

func readCPU() cpuTimes {
	t := cpuTimes{at: time.Now()}
	user, system := rusage.Times()
	t.user, t.system = user.Seconds(), system.Seconds()
	if all, err := cpu.Times(false); err == nil && len(all) == 1 {
		m := all[0]
		t.idle = m.Idle + m.Iowait
		t.machine = m.User + m.System + m.Nice + m.Irq + m.Softirq + m.Steal + t.idle
	}
	return t
}

func (c *collector) cpuLoad(now time.Time) {
	t, before := readCPU(), c.load
	c.load = t
	share := func(used, of float64) jfr.Value {
		if of <= 0 || math.IsNaN(used) {
			return jfr.Percentage(0)
		}
		return jfr.Percentage(min(max(used/of, 0), 1))
	}
	elapsed := t.at.Sub(before.at).Seconds() * float64(runtime.NumCPU())
	machine := t.machine - before.machine
	c.add(typeCPULoad, now, 0, share(t.user-before.user, elapsed), share(t.system-before.system, elapsed), share(machine-(t.idle-before.idle), machine))
}

// readMetric reads one number of the runtime.
func readMetric(name string) uint64 {
	sample := []metrics.Sample{{Name: name}}
	metrics.Read(sample)
	if sample[0].Value.Kind() != metrics.KindUint64 {
		return 0
	}
	return sample[0].Value.Uint64()
}

func osVersion() string {
	parts := []string{runtime.GOOS, runtime.GOARCH}
	if info, err := host.Info(); err == nil {
		parts = append(parts, info.Platform, info.PlatformVersion, "kernel", info.KernelVersion)
	}
	return strings.Join(parts, " ")
}

// shown are environment variables whose values cannot be secret.
var shown = []string{"GODEBUG", "GOGC", "GOMAXPROCS", "GOMEMLIMIT", "GOTRACEBACK", "LANG", "LC_ALL", "TZ", "TERM"}

const masked = "***"

// environment returns the variables, with values only where they cannot be secret.
func environment(list []string) []Fact {
	facts := make([]Fact, 0, len(list))
	for _, pair := range list {
		key, value, _ := strings.Cut(pair, "=")
		if !slices.Contains(shown, key) {
			value = masked
		}
		facts = append(facts, Fact{key, value})
	}
	return facts
}
