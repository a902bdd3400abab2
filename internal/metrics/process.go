// SPDX-License-Identifier: Apache-2.0

package metrics

import (
	"fmt"
	"os"
	"runtime"
	"sync"
	"time"

	"github.com/shirou/gopsutil/v4/process"
)

// sampleAge is how long readings of the process and the system are reused. It keeps frequent reads
// cheap and gives CPU ratios a meaningful period.
const sampleAge = time.Second

// processStart is close enough to the real start: packages are initialised before main.
var processStart = time.Now()

// sampler samples the process and the system at most once per sampleAge and caches the sample. The
// CPU ratios cover the time since the previous sample, so no reader waits for a measurement.
type sampler struct {
	elapsed func() time.Duration
	home    string
	system  systemReader
	runtime *runtimeReader

	mu     sync.Mutex
	taken  time.Duration
	latest sample
}

// sample is one consistent reading.
type sample struct {
	system  systemSample
	runtime runtimeSample
}

// get returns a sample that is at most sampleAge old.
func (s *sampler) get() sample {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.elapsed()
	if now-s.taken < sampleAge {
		return s.latest
	}
	s.take(now)
	return s.latest
}

func (s *sampler) take(now time.Duration) {
	s.latest.system = s.system.read(s.latest.system, s.home)
	s.latest.runtime = s.runtime.read(now, s.latest.system.memoryTotal)
	s.taken = now
}

// RegisterProcess declares and fills the readings of the process, of the Go runtime and of the
// system. The disk readings are those of the file system of the folder home, or of its nearest
// existing parent.
func (r *Registry) RegisterProcess(home string) error {
	proc, err := process.NewProcess(int32(os.Getpid()))
	if err != nil {
		return fmt.Errorf("read the process with id %d: %w", os.Getpid(), err)
	}
	s := &sampler{
		elapsed: r.elapsed,
		home:    home,
		system:  systemReader{proc: proc, cpus: float64(runtime.NumCPU())},
		runtime: newRuntimeReader(),
	}
	s.take(r.elapsed())

	var (
		readings []*reading
		emits    []func(emit emitter, s *sample)
	)
	for _, d := range systemReadings {
		rd := r.reading(Declaration{Name: d.name, Description: d.description, BaseUnit: d.unit}, d.kind)
		readings = append(readings, rd)
		emits = append(emits, func(emit emitter, s *sample) { emit.value(rd, d.value(s)) })
	}
	for _, d := range runtimeReadings {
		rd := r.reading(Declaration{Name: d.name, Description: d.description, BaseUnit: d.unit, Tags: d.tags}, d.kind)
		readings = append(readings, rd)
		emits = append(emits, func(emit emitter, s *sample) { d.emit(emit, rd, s) })
	}
	r.source(readings, func(emit emitter) {
		latest := s.get()
		for _, e := range emits {
			e(emit, &latest)
		}
	})
	return nil
}
