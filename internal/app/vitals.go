// SPDX-License-Identifier: Apache-2.0

package app

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"example.org/app/internal/config"
	"example.org/app/internal/metrics"
)

// vitals watches whether the machine leaves this process enough room to work.
type vitals struct {
	live    *config.Live
	metrics *metrics.Registry
	strikes int32 // checks in a row that found too much load
	state   atomic.Pointer[vitalState]
}

type vitalState struct{ err error }

func (a *App) startVitals(context.Context) error {
	a.vitals = &vitals{live: a.live, metrics: a.metrics}
	a.vitals.look()
	a.lifecycle.add(part{name: "vitals", run: a.vitals.run})
	return nil
}

// check returns what the last look found.
func (v *vitals) check(context.Context) error { return v.state.Load().err }

func (v *vitals) run(ctx context.Context) error {
	for {
		timer := time.NewTimer(time.Duration(v.live.Current().HealthCheck.CheckIntervalSeconds) * time.Second)
		select {
		case <-ctx.Done():
			timer.Stop()
			return nil
		case <-timer.C:
			v.look()
		}
	}
}

// look compares the machine with the limits.
func (v *vitals) look() {
	tuneGC()
	cpu, total, free := v.read("system.cpu.usage"), v.read("system.memory.total"), v.read("system.memory.free")
	v.state.Store(&vitalState{v.judge(v.live.Current().HealthCheck, cpu, total, free)})
}

func (v *vitals) read(name string) float64 {
	found, err := v.metrics.Snapshot([]string{name})
	if err != nil || len(found) == 0 || len(found[0].Meters) == 0 {
		return 0
	}
	value, _ := found[0].Meters[0].Value("value")
	return value
}

func (v *vitals) judge(c config.HealthCheck, cpu, total, free float64) error {
	if cpu*100 > float64(c.CPU.UnhealthyLoadThresholdPercentage) {
		v.strikes++
	} else {
		v.strikes = 0
	}
	switch {
	case v.strikes > c.CPU.Retries:
		return fmt.Errorf("the processors are used to %.0f %%, more than %d %%", cpu*100, c.CPU.UnhealthyLoadThresholdPercentage)
	case total > 0 && free < float64(c.Memory.MinFreeSystemMemoryBytes):
		return fmt.Errorf("%.0f bytes of memory are free, less than %d", free, c.Memory.MinFreeSystemMemoryBytes)
	case total > 0 && (total-free)/total*100 > float64(c.Memory.MaxAvailableMemoryPercentage):
		return fmt.Errorf("the memory is used to %.0f %%, more than %d %%", (total-free)/total*100, c.Memory.MaxAvailableMemoryPercentage)
	}
	return nil
}
