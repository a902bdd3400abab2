// SPDX-License-Identifier: Apache-2.0

package metrics

import (
	"math"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"github.com/shirou/gopsutil/v4/cpu"
	"github.com/shirou/gopsutil/v4/disk"
	"github.com/shirou/gopsutil/v4/load"
	"github.com/shirou/gopsutil/v4/mem"
	"github.com/shirou/gopsutil/v4/process"
)

// systemSample contains the readings of the operating system. A number that could not be read keeps
// its last value, and is NaN if there is none.
type systemSample struct {
	processCPU, systemCPU        float64
	load                         float64
	filesOpen, filesMax          float64
	memoryTotal, memoryAvailable float64
	swapTotal, swapFree          float64
	diskTotal, diskFree          float64
}

// systemReader keeps the CPU times of the previous sample.
type systemReader struct {
	proc *process.Process
	cpus float64

	started              bool
	at                   time.Time
	processUsed          float64
	systemBusy, systemAt float64
}

func (r *systemReader) read(last systemSample, home string) systemSample {
	s := last
	if !r.started {
		nan := math.NaN()
		s = systemSample{
			load: nan, filesOpen: nan, filesMax: nan, memoryTotal: nan, memoryAvailable: nan,
			swapTotal: nan, swapFree: nan, diskTotal: nan, diskFree: nan,
		}
	}
	r.readCPU(&s)
	if avg, err := load.Avg(); err == nil {
		s.load = avg.Load1
	}
	r.readFiles(&s)
	if m, err := mem.VirtualMemory(); err == nil {
		s.memoryTotal = float64(m.Total)
		s.memoryAvailable = float64(m.Available)
	}
	if m, err := mem.SwapMemory(); err == nil {
		s.swapTotal, s.swapFree = float64(m.Total), float64(m.Free)
	}
	if d, err := disk.Usage(existing(home)); err == nil {
		s.diskTotal, s.diskFree = float64(d.Total), float64(d.Free)
	}
	r.started = true
	return s
}

// readCPU derives the ratios from the CPU time since the last sample. The first sample reports
// zero.
func (r *systemReader) readCPU(s *systemSample) {
	now := time.Now()
	if t, err := r.proc.Times(); err == nil {
		used := t.User + t.System
		if r.started {
			s.processCPU = ratio(used-r.processUsed, now.Sub(r.at).Seconds()*r.cpus)
		}
		r.processUsed, r.at = used, now
	}
	if all, err := cpu.Times(false); err == nil && len(all) > 0 {
		t := all[0]
		// The time of guests is omitted: Linux includes it in the time of their users.
		busy := t.User + t.System + t.Nice + t.Irq + t.Softirq + t.Steal
		total := busy + t.Idle + t.Iowait
		if r.started && total > r.systemAt {
			s.systemCPU = ratio(busy-r.systemBusy, total-r.systemAt)
		}
		r.systemBusy, r.systemAt = busy, total
	}
}

func ratio(part, whole float64) float64 {
	if whole <= 0 {
		return 0
	}
	return min(max(part/whole, 0), 1)
}

func (r *systemReader) readFiles(s *systemSample) {
	// Recent Linux kernels report the number of descriptors as the size of their folder, so that a
	// server with many connections need not list them all.
	if info, err := os.Stat("/proc/self/fd"); err == nil && info.Size() > 0 {
		s.filesOpen = float64(info.Size())
	} else if n, err := r.proc.NumFDs(); err == nil {
		s.filesOpen = float64(n)
	}
	if limits, err := r.proc.Rlimit(); err == nil {
		for _, limit := range limits {
			if limit.Resource == process.RLIMIT_NOFILE {
				s.filesMax = float64(limit.Soft)
			}
		}
	}
}

// existing returns the nearest existing folder at or above path.
func existing(path string) string {
	path, err := filepath.Abs(path)
	if err != nil {
		return "."
	}
	for {
		if _, err := os.Stat(path); err == nil {
			return path
		}
		parent := filepath.Dir(path)
		if parent == path {
			return path
		}
		path = parent
	}
}

// systemReadings are the metrics of the process and the system.
var systemReadings = []struct {
	name, description, unit string
	kind                    Type
	value                   func(s *sample) float64
}{
	{
		"process.cpu.usage", "CPU time used by this process since the last sample, as a ratio (0 to 1) of all CPUs.",
		PerTenThousand, TypeGauge, func(s *sample) float64 { return s.system.processCPU },
	},
	{
		"process.uptime", "Time since this process started.",
		UnitSeconds, TypeGauge, func(*sample) float64 { return time.Since(processStart).Seconds() },
	},
	{
		"process.start.time", "Time at which this process started, since the Unix epoch.",
		UnitSeconds, TypeGauge, func(*sample) float64 { return float64(processStart.UnixMilli()) / 1000 },
	},
	{
		"process.files.open", "Open file descriptors of this process.",
		"files", TypeGauge, func(s *sample) float64 { return s.system.filesOpen },
	},
	{
		"process.files.max", "File descriptors that this process may have open.",
		"files", TypeGauge, func(s *sample) float64 { return s.system.filesMax },
	},
	{
		"system.cpu.usage", "CPU time used by the whole system since the last sample, as a ratio (0 to 1) of all CPUs.",
		PerTenThousand, TypeGauge, func(s *sample) float64 { return s.system.systemCPU },
	},
	{
		"system.cpu.count", "CPUs that this process may use.",
		"", TypeGauge, func(*sample) float64 { return float64(runtime.NumCPU()) },
	},
	{
		"system.load.average.1m", "Average number of runnable tasks of the system over one minute.",
		"", TypeGauge, func(s *sample) float64 { return s.system.load },
	},
	{
		"system.memory.total", "Physical memory of the system.",
		UnitBytes, TypeGauge, func(s *sample) float64 { return s.system.memoryTotal },
	},
	{
		"system.memory.free", "Physical memory that programs can still get, caches that the system would give up included.",
		UnitBytes, TypeGauge, func(s *sample) float64 { return s.system.memoryAvailable },
	},
	{
		"system.memory.swap.total", "Swap space of the system.",
		UnitBytes, TypeGauge, func(s *sample) float64 { return s.system.swapTotal },
	},
	{
		"system.memory.swap.free", "Unused swap space of the system.",
		UnitBytes, TypeGauge, func(s *sample) float64 { return s.system.swapFree },
	},
	{
		"disk.total", "Size of the file system that holds the server's home folder.",
		UnitBytes, TypeGauge, func(s *sample) float64 { return s.system.diskTotal },
	},
	{
		"disk.free", "Space of the file system that holds the server's home folder which the server can still use.",
		UnitBytes, TypeGauge, func(s *sample) float64 { return s.system.diskFree },
	},
}
