// SPDX-License-Identifier: Apache-2.0

package java

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"time"
)

// Stats is the state of the JVMs. Without a JVM all fields are zero, except Restarts and those
// of the spare.
type Stats struct {
	Up  bool
	PID int
	// JVMs is the number of JVMs with plugins, and Spare the process id of the spare; 0 means none.
	JVMs, Spare int
	// Resident is the resident memory of the processes in bytes, including the spare; 0 means
	// unknown.
	Resident int64
	// HeapUsed, HeapCommitted and Metaspace are bytes.
	HeapUsed, HeapCommitted, Metaspace int64
	Classes                            int64
	// Loaders is the number of plugins' class loaders.
	Loaders int64
	// Calls is the number of running calls.
	Calls int64
	// Handles and Functions count the references from plugins in other languages to Java, and from
	// Java to them.
	Handles, Functions int64
	// Restarts is the number of JVMs that died.
	Restarts int64
	// Java is the version.
	Java string
}

const (
	// statsTime is the interval between state requests.
	statsTime = 2 * time.Second
	// silentTime is the time without response after which a JVM is killed. Together with
	// statsTime it is 10 seconds.
	silentTime = 8 * time.Second
	// doubtTime is the time without response after which slow calls are not blamed on their
	// plugins.
	doubtTime = time.Second
	// silentSpareTime is silentTime for a needed spare: it is idle, and plugins wait for it.
	silentSpareTime = 2 * time.Second
	// starvedTime is silentTime for a JVM that waits for processors used by others.
	starvedTime = time.Minute
)

// Stats returns the state of the JVMs of a few seconds ago: sums, and the process and version of
// the shared one.
func (h *Host) Stats() Stats {
	h.mu.Lock()
	sum := Stats{Restarts: h.restarts}
	if s := h.spare.session; s != nil {
		sum.Spare = s.cmd.Process.Pid
	}
	h.mu.Unlock()
	if sum.Spare != 0 {
		sum.Resident = resident(sum.Spare)
	}
	for _, s := range h.running() {
		s.mu.Lock()
		one := s.stats
		s.mu.Unlock()
		if !sum.Up {
			sum.Up, sum.PID, sum.Java = true, s.cmd.Process.Pid, s.java
		}
		sum.JVMs++
		sum.Resident += resident(s.cmd.Process.Pid)
		sum.HeapUsed += one.HeapUsed
		sum.HeapCommitted += one.HeapCommitted
		sum.Metaspace += one.Metaspace
		sum.Classes += one.Classes
		sum.Loaders += one.Loaders
		sum.Calls += one.Calls
		sum.Handles += one.Handles
		sum.Functions += one.Functions
	}
	return sum
}

// alone returns the session of a module; nil if it has none, or other modules may be in it.
func (h *Host) alone(m *module) *session {
	h.mu.Lock()
	defer h.mu.Unlock()
	if l := m.slot.Load(); len(l.modules) == 1 && (l.own || l.loading == 0 && !h.objects.used()) {
		return l.current
	}
	return nil
}

// Measure requests the state of the JVMs. If collect is true, they collect garbage first.
func (h *Host) Measure(ctx context.Context, collect bool) (Stats, error) {
	if _, err := h.shared.session(ctx, false); err != nil && len(h.running()) == 0 {
		return Stats{}, err
	}
	for _, s := range h.running() {
		if err := s.measure(ctx, collect); err != nil {
			return Stats{}, err
		}
	}
	return h.Stats(), nil
}

func (s *session) measure(ctx context.Context, collect bool) error {
	a, err := s.request(ctx, kindStats, nil, func(b []byte) ([]byte, error) { return appendBool(b, collect), nil })
	if err != nil {
		return fmt.Errorf("ask the Java host for its state: %w", err)
	}
	defer a.free()
	r := &in{b: *a.body}
	stats := Stats{HeapUsed: r.int(), HeapCommitted: r.int(), Metaspace: r.int(), Classes: r.int(), Loaders: r.int(), Calls: r.int(), Handles: r.int(), Functions: r.int()}
	reports, remnants, loading := readReports(r)
	if err := r.end(); err != nil {
		return fmt.Errorf("ask the Java host for its state: %w", err)
	}
	limit := s.host.opts.MaxMemory()
	s.mu.Lock()
	s.stats = stats
	if collect || limit <= 0 || stats.HeapUsed <= limit {
		s.held = stats.HeapUsed // Otherwise part of it may be garbage.
	}
	s.mu.Unlock()
	s.ending(s.account(reports, remnants, loading))
	return nil
}

// watch requests the state periodically, and kills an unresponsive JVM.
func (s *session) watch() {
	ticker := time.NewTicker(statsTime)
	defer ticker.Stop()
	for {
		select {
		case <-s.ctx.Done():
			return
		case <-ticker.C:
		}
		if after, silent := s.ask(silentTime); silent && s.host.opts.Debug.Port == 0 {
			s.endSilent(after)
			return
		}
		s.tellLevel()
		s.thinOut()
	}
}

// isSilent reports whether a state request is overdue, so that calls most likely get no response
// either.
func (s *session) isSilent() bool {
	probed := s.probed.Load()
	return probed != 0 && time.Since(time.Unix(0, probed)) > doubtTime
}

// endSilent kills an unresponsive JVM.
func (s *session) endSilent(after time.Duration) {
	s.log.Error("the Java host does not answer and is ended", slog.Duration("after", after))
	s.silenced.Store(true)
	_ = s.cmd.Process.Kill() // It may have exited already.
}

// ask requests the state, and reports whether the JVM did not respond in time. A JVM starved of
// processors gets more time.
func (s *session) ask(limit time.Duration) (after time.Duration, silent bool) {
	begin := time.Now()
	s.probed.Store(begin.UnixNano())
	defer s.probed.Store(0)
	ctx, cancel := context.WithTimeout(s.ctx, starvedTime)
	defer cancel()
	answered := make(chan error, 1)
	go func() { answered <- s.measure(ctx, false) }()
	var before scheduling
	for looks := 0; ; looks++ {
		select {
		case err := <-answered:
			return time.Since(begin), errors.Is(err, context.DeadlineExceeded)
		case <-time.After(limit / 2):
		}
		now := schedulingOf(s.cmd.Process.Pid)
		if looks > 0 && !now.starved(before, limit/2) {
			cancel()
			<-answered
			return time.Since(begin), s.ctx.Err() == nil
		}
		before = now
	}
}

// A scheduling is the run time and the wait time of a process's threads.
type scheduling struct{ ran, waited time.Duration }

// starved reports whether threads mostly waited for a processor since an earlier measurement, while
// other processes used most of them.
func (c scheduling) starved(before scheduling, elapsed time.Duration) bool {
	all := elapsed * time.Duration(runtime.GOMAXPROCS(0))
	return c.waited-before.waited >= elapsed/2 && c.ran-before.ran < all/2
}

// schedulingOf reads the scheduling of a process from /proc; zero means unknown.
func schedulingOf(pid int) (sum scheduling) {
	files, _ := filepath.Glob("/proc/" + strconv.Itoa(pid) + "/task/*/schedstat")
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			continue // The thread has ended.
		}
		var ran, waited int64
		if _, err := fmt.Sscan(string(data), &ran, &waited); err == nil {
			sum.ran += time.Duration(ran)
			sum.waited += time.Duration(waited)
		}
	}
	return sum
}

// resident reads the resident memory of a process from /proc; 0 means unknown.
func resident(pid int) int64 {
	data, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/statm")
	if err != nil {
		return 0
	}
	fields := bytes.Fields(data)
	if len(fields) < 2 {
		return 0
	}
	pages, err := strconv.ParseInt(string(fields[1]), 10, 64)
	if err != nil {
		return 0
	}
	return pages * int64(os.Getpagesize())
}

// tick is the unit of processor time in /proc.
const tick = 10 * time.Millisecond

// processTime reads the processor time of a process from /proc; 0 means unknown.
func processTime(pid int) time.Duration {
	data, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return 0
	}
	// The program's name before the last parenthesis may contain anything.
	fields := bytes.Fields(data[bytes.LastIndexByte(data, ')')+1:])
	if len(fields) < 13 {
		return 0
	}
	var sum time.Duration
	for _, field := range fields[11:13] {
		n, err := strconv.ParseInt(string(field), 10, 64)
		if err != nil {
			return 0
		}
		sum += time.Duration(n) * tick
	}
	return sum
}
