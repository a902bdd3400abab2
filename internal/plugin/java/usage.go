// SPDX-License-Identifier: Apache-2.0

package java

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// A report is a JVM's report about a plugin.
type report struct {
	number uint64
	// cpu and allocated are its usage since it was loaded into the JVM.
	cpu       time.Duration
	allocated int64
	// abandoned is the number of its abandoned calls that still run, and spinning how long one of
	// them has been computing.
	abandoned int64
	spinning  time.Duration
}

// A remnant is a JVM's report about an unloaded plugin whose threads continue.
type remnant struct {
	number  uint64
	threads int64
	// since is the time since it was unloaded, and cpu the threads' processor time since it was
	// loaded.
	since, cpu time.Duration
}

// readReports decodes the reports of a JVM. loading is how long it has been computing for an
// abandoned load.
func readReports(r *in) (reports []report, remnants []remnant, loading time.Duration) {
	for range r.count() {
		reports = append(reports, report{number: r.uint(), cpu: time.Duration(r.int()), allocated: r.int(), abandoned: r.int(), spinning: time.Duration(r.int())})
	}
	for range r.count() {
		remnants = append(remnants, remnant{number: r.uint(), threads: r.int(), since: time.Duration(r.int()), cpu: time.Duration(r.int())})
	}
	return reports, remnants, time.Duration(r.int())
}

// A ledger is a session's record of the usage of its plugins. The mutex of the session guards it.
type ledger struct {
	at time.Time
	// cpu and allocated are those of the last reports by plugin number; process is the time of the
	// whole process.
	cpu       map[uint64]time.Duration
	allocated map[uint64]int64
	process   time.Duration
	// gone are the ids of unloaded plugins whose threads continue.
	gone map[uint64]string
}

// loadingLate records an abandoned load that still runs, until done is called.
func (s *session) loadingLate(m *module) (done func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.late = append(s.late, m)
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.late = slices.DeleteFunc(s.late, func(other *module) bool { return other == m })
	}
}

// account adds the plugins' usage since the last reports, and returns runaway work.
func (s *session) account(reports []report, remnants []remnant, loading time.Duration) (found []runaway) {
	process := processTime(s.cmd.Process.Pid)
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	l := &s.ledger
	elapsed := now.Sub(l.at)
	busy := func(number uint64, cpu time.Duration) bool {
		return l.cpu[number] > 0 && (cpu-l.cpu[number])*busyShare >= elapsed
	}
	next := ledger{at: now, cpu: make(map[uint64]time.Duration), allocated: make(map[uint64]int64), process: process, gone: l.gone}
	for _, r := range reports {
		next.cpu[r.number], next.allocated[r.number] = r.cpu, r.allocated
		m := s.modules[r.number]
		if m == nil {
			continue
		}
		used := r.cpu - l.cpu[r.number]
		if slot := s.slot.Load(); slot != nil && slot.own && len(s.modules) == 1 && process > 0 {
			used = process - l.process // It includes virtual threads that the plugin started.
		}
		m.cpu.Add(int64(max(used, 0)))
		m.allocated.Add(max(r.allocated-l.allocated[r.number], 0))
		switch limit := s.host.opts.Runaway; {
		case r.spinning >= limit && busy(r.number, r.cpu):
			found = append(found, runaway{module: m, how: fmt.Sprintf("a call that has been computing for %s since its time was over", r.spinning.Round(time.Second))})
		case r.abandoned >= maxAbandoned:
			found = append(found, runaway{module: m, how: fmt.Sprintf("%d calls that do not end although their time is over", r.abandoned)})
		}
	}
	idle := 0
	for _, r := range remnants {
		next.cpu[r.number] = r.cpu
		if r.since < s.host.opts.Runaway {
			continue
		}
		idle++
		if busy(r.number, r.cpu) || idle >= maxRemnants || r.threads >= maxIdle {
			found = append(found, runaway{id: l.gone[r.number], how: fmt.Sprintf("%d threads that go on after it was unloaded", r.threads)})
		}
	}
	if loading >= s.host.opts.Runaway && len(s.late) > 0 {
		found = append(found, runaway{id: strings.Join(names(s.late), ", "), how: fmt.Sprintf("loading that has been computing for %s since its time was over", loading.Round(time.Second))})
	}
	s.ledger = next
	return found
}

const (
	// busyShare is the fraction of a processor above which work counts as runaway: a fiftieth.
	// Waiting threads use none, and on an overloaded machine a computing one may get little.
	busyShare = 50
	// maxAbandoned is the maximum number of one plugin's abandoned calls.
	maxAbandoned = 1000
	// maxRemnants is the maximum number of unloaded plugins with idle threads in a JVM, and maxIdle
	// the maximum number of such threads of one.
	maxRemnants = 10
	maxIdle     = 100
)
