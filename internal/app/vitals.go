// SPDX-License-Identifier: Apache-2.0

package app

import (
	"context"
	"errors"
	"fmt"
	"math"
	runtimemetrics "runtime/metrics"
	"slices"
	"sync/atomic"
	"time"

	"example.org/app/internal/admin/api"
	"example.org/app/internal/apierr"
	"example.org/app/internal/cluster"
	"example.org/app/internal/config"
	"example.org/app/internal/metrics"
	"example.org/app/internal/sleep"
)

// vitals checks whether the machine has enough resources for this process, and whether the process
// keeps up with its work.
type vitals struct {
	live    *config.Live
	metrics *metrics.Registry
	// load and waits are the numbers of successive checks with too much load, and with work that
	// waited too long.
	load, waits int32
	waiting     waiting
	memory      memory
	state       atomic.Pointer[vitalState]
}

type vitalState struct{ err error }

func (p *machine) start(context.Context) error {
	p.vitals = &vitals{live: p.Process.live, metrics: p.Measurements.registry}
	p.vitals.look()
	p.Process.lifecycle.add(part{name: "vitals", run: p.vitals.run})
	return nil
}

// check returns the result of the last check: a *cluster.Strain if the node continues to work.
func (v *vitals) check(context.Context) error { return v.state.Load().err }

// report returns the same for /health, as degraded if the node continues to work.
func (v *vitals) report(ctx context.Context) error {
	err := v.check(ctx)
	if strain, ok := errors.AsType[*cluster.Strain](err); ok {
		if !strain.Refuse {
			return api.Degraded(strain.Reason)
		}
		return apierr.New(apierr.ServerUnavailable, "%s", strain.Reason)
	}
	return err
}

func (v *vitals) run(ctx context.Context) error {
	for {
		if sleep.For(ctx, time.Duration(v.live.Current().HealthCheck.CheckIntervalSeconds)*time.Second) != nil {
			return nil
		}
		v.look()
	}
}

// look compares the machine and the process with the limits.
func (v *vitals) look() {
	v.memory.look()
	err := v.judge(v.live.Current().HealthCheck, reading{
		cpu: v.read("system.cpu.usage"), total: v.read("system.memory.total"), free: v.read("system.memory.free"), wait: v.waiting.read(),
		disk: v.read("disk.total"), diskFree: v.read("disk.free"),
	})
	strain, strained := errors.AsType[*cluster.Strain](err)
	v.metrics.Node().Strained.Set(flag(strained || err != nil))
	v.metrics.Node().Refusing.Set(flag(err != nil && (!strained || strain.Refuse)))
	v.state.Store(&vitalState{err})
}

func flag(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

// reading contains the measurements of one check.
type reading struct {
	cpu         float64 // share of the processors
	total, free float64 // bytes of memory
	wait        time.Duration
	// disk and diskFree are the bytes of the file system with the home folder; 0 means unknown.
	disk, diskFree float64
}

// minDiskFree is the free space, in bytes, below which a disk counts as full: the next write may
// fail.
const minDiskFree = 64 << 20

func (v *vitals) read(name string) float64 {
	found, err := v.metrics.Snapshot([]string{name})
	if err != nil || len(found) == 0 || len(found[0].Meters) == 0 {
		return 0
	}
	value, _ := found[0].Meters[0].Value("value")
	return value
}

// judge returns an error for an unfit node, and a *cluster.Strain for one that continues to work.
func (v *vitals) judge(c config.HealthCheck, r reading) error {
	v.load = strikes(v.load, r.cpu*100 > float64(c.CPU.UnhealthyLoadThresholdPercentage))
	limit := time.Duration(c.Overload.MaxWaitMillis) * time.Millisecond
	v.waits = strikes(v.waits, limit > 0 && r.wait > limit)
	switch {
	case r.total > 0 && r.free < float64(c.Memory.MinFreeSystemMemoryBytes):
		return fmt.Errorf("%.0f bytes of memory are free, less than %d", r.free, c.Memory.MinFreeSystemMemoryBytes)
	case r.total > 0 && (r.total-r.free)/r.total*100 > float64(c.Memory.MaxAvailableMemoryPercentage):
		return fmt.Errorf("the memory is used to %.0f %%, more than %d %%", (r.total-r.free)/r.total*100, c.Memory.MaxAvailableMemoryPercentage)
	case v.waits > c.Overload.Retries:
		return &cluster.Strain{Refuse: true, Reason: fmt.Sprintf("work waits %s before it runs, more than %s", r.wait.Round(time.Millisecond), limit)}
	case r.disk > 0 && r.diskFree < minDiskFree:
		// Reads still work, and writes fail by themselves.
		return &cluster.Strain{Reason: fmt.Sprintf("the disk with the home folder is full: %.0f of %.0f bytes are free", r.diskFree, r.disk)}
	case v.load > c.CPU.Retries:
		return &cluster.Strain{
			Refuse: c.CPU.Refuse, Reason: fmt.Sprintf("the processors are used to %.0f %%, more than %d %%", r.cpu*100, c.CPU.UnhealthyLoadThresholdPercentage),
		}
	}
	return nil
}

// strikes counts successive events.
func strikes(before int32, again bool) int32 {
	if !again {
		return 0
	}
	return min(before, math.MaxInt32-1) + 1
}

// waiting measures how long runnable goroutines wait for a processor of this process.
type waiting struct{ counts []uint64 }

// waitShare is the share of the longest waits that read ignores as outliers.
const waitShare = 0.1

// read returns the 90th percentile of the waits since the last call.
func (w *waiting) read() time.Duration {
	sample := []runtimemetrics.Sample{{Name: "/sched/latencies:seconds"}}
	runtimemetrics.Read(sample)
	if sample[0].Value.Kind() != runtimemetrics.KindFloat64Histogram {
		return 0
	}
	h := sample[0].Value.Float64Histogram()
	wait := percentile(h.Buckets, h.Counts, w.counts)
	w.counts = slices.Clone(h.Counts)
	return wait
}

// percentile returns the lower bound of the bucket with the percentile that read returns.
func percentile(buckets []float64, counts, before []uint64) time.Duration {
	since := func(i int) uint64 {
		if i < len(before) {
			return counts[i] - before[i]
		}
		return counts[i]
	}
	var total, seen uint64
	for i := range counts {
		total += since(i)
	}
	for i := len(counts) - 1; i >= 0 && total > 0; i-- {
		if seen += since(i); float64(seen) > float64(total)*waitShare {
			return time.Duration(max(0, buckets[i]) * float64(time.Second))
		}
	}
	return 0
}
