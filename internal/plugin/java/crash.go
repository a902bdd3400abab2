// SPDX-License-Identifier: Apache-2.0

package java

import (
	"archive/zip"
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"example.org/app/internal/plugin/java/heapdump"
	"example.org/app/internal/recording/event"
)

// A crash is an unexpected end of a JVM.
type crash struct {
	at time.Time
	// blamed are the modules with running requests, or the one known to have ended it.
	blamed []*module
	why    error
	// unborn is true if the JVM did not start, past if an unloaded plugin crashed it.
	unborn, past bool
}

// leaving handles a plugin's call of System.exit. The JVM continues until the server has stopped
// all plugins; the calls of the exiting one fail.
func (h *Host) leaving(s *session, e *exit) {
	if h.opts.Exit == nil {
		return
	}
	id := ""
	if e.module != nil {
		id = e.module.descriptor.ID
		e.module.leaving.Store(new(e.error()))
		s.conn.fail(e.module, e.error())
	}
	h.opts.Log.Warn("a plugin stops the server by System.exit", slog.String("plugin", id), slog.Int("status", e.status))
	h.opts.Exit(id, e.status)
}

// error returns the error of calls that can no longer be answered.
func (e *exit) error() error {
	who := "a plugin"
	if e.module != nil {
		who = fmt.Sprintf("plugin %q", e.module.descriptor.ID)
	}
	return fmt.Errorf("%s stops the server by System.exit(%d)", who, e.status)
}

// crasher returns the module whose code crashed the JVM: the only one with the innermost plugin
// class on the stack of the crashed thread. It returns nil if that is unknown.
func (s *session) crasher() *module {
	if len(s.crashed) == 0 {
		return nil
	}
	s.mu.Lock()
	modules := slices.Collect(maps.Values(s.modules))
	s.mu.Unlock()
	owners := make(map[string][]*module)
	for _, m := range modules {
		z, err := zip.OpenReader(m.copy)
		if err != nil {
			continue // It was being unloaded.
		}
		for _, f := range z.File {
			owners[f.Name] = append(owners[f.Name], m)
		}
		z.Close()
	}
	for _, class := range s.crashed {
		if found := owners[strings.ReplaceAll(class, ".", "/")+".class"]; len(found) == 1 {
			return found[0]
		} else if len(found) > 1 {
			return nil
		}
	}
	return nil
}

// largestHolder returns the number of the plugin that filled the heap, from the JVM's heap dump.
func (s *session) largestHolder() (number uint64, holds string, ok bool) {
	data, err := os.ReadFile(s.heapFile)
	if err != nil {
		return 0, "", false // The heap was not full, or the dump failed.
	}
	if err := os.Remove(s.heapFile); err != nil {
		s.log.Warn("a heap dump is left behind", slog.Any("error", err))
	}
	held, err := heapdump.Read(data)
	if err != nil {
		s.log.Warn("it is not known which plugin holds the memory of the Java host", slog.Any("error", err))
		return 0, "", false
	}
	n, bytes, ok := held.Largest()
	s.mu.Lock()
	defer s.mu.Unlock()
	if !ok || s.modules[uint64(n)] == nil && !s.removed[uint64(n)] {
		return 0, "", false // The number of a plugin being loaded is not known here yet.
	}
	return uint64(n), fmt.Sprintf("%d of %d MiB", bytes>>20, held.Total>>20), true
}

// died handles the unexpected end of a JVM.
func (h *Host) died(s *session) {
	h.mu.Lock()
	s.gone = true
	if h.spare.lost(s) {
		h.mu.Unlock()
		return
	}
	l := s.slot.Load()
	if e := s.exit.Load(); e != nil && h.opts.Exit != nil {
		l.exited = e.error()
		if l.current == s {
			l.current = nil
		}
		h.mu.Unlock()
		return
	}
	if l.current != s {
		h.mu.Unlock()
		return // The starter of the JVM handles it.
	}
	l.current = nil
	again, delay, tell := l.crashed(s.crash())
	if again && !h.closed {
		l.begin(delay)
	}
	h.mu.Unlock()
	tell()
}

// crash collects the facts about the end of the session.
func (s *session) crash() crash {
	known := s.culprit.Load()
	return crash{at: time.Now(), blamed: s.blamed, why: s.why, past: known != nil && known.module == nil}
}

// crashed records a crash and decides whether and when the JVM is restarted. The caller must
// hold l.host.mu. Suspects are moved to their own JVMs if allowed. After too many crashes, the
// most likely culprits are not restored; tell, which must be called without the lock, reports
// that.
func (l *slot) crashed(c crash) (again bool, delay time.Duration, tell func()) {
	h := l.host
	h.restarts++
	l.last = c.why
	h.opts.Log.Error("the Java host died", slog.Any("error", c.why), slog.Any("plugins", names(c.blamed)))
	event.Report(event.Incident{Reason: event.JVMDied})
	if c.past {
		return len(l.returning()) > 0, backOff(len(l.crashes)), func() {}
	}
	if slices.ContainsFunc(c.blamed, (*module).isLoading) {
		// Most likely the plugin being loaded is the culprit; its load fails.
		return len(l.returning()) > 0, backOff(len(l.crashes)), func() {}
	}
	known := slices.DeleteFunc(slices.Clone(c.blamed), func(m *module) bool { return !slices.Contains(l.modules, m) })
	if len(c.blamed) == 0 || len(known) > 0 { // Otherwise it was a plugin in another language.
		c.blamed = known
		l.crashes = append(l.crashes, c)
	}
	l.crashes = slices.DeleteFunc(l.crashes, func(old crash) bool { return c.at.Sub(old.at) > h.opts.CrashWindow })
	if n := len(l.crashes); l.isolate(c) || n < h.opts.Crashes {
		return len(l.returning()) > 0, backOff(n), func() {}
	}
	why := fmt.Sprintf("the Java host died %d times within %s, the last time because: %v", len(l.crashes), h.opts.CrashWindow, c.why)
	guilty := l.guilty()
	for _, m := range guilty {
		m.bench(errors.New(why))
	}
	l.crashes = nil
	return len(l.returning()) > 0, backOff(1), func() {
		for _, m := range guilty {
			h.opts.Log.Error("a plugin does not come back because the Java host died too often", slog.String("plugin", m.descriptor.ID), slog.String("reason", why))
			h.opts.Broken(m, "", why, false)
		}
	}
}

// names returns the names of modules, for the log.
func names(list []*module) []string {
	var names []string
	for _, m := range list {
		names = append(names, cmp.Or(m.descriptor.ID, m.name))
	}
	slices.Sort(names)
	return names
}

// isolate moves the suspects of a crash to their own JVMs, and reports whether it moved any. A
// plugin that was alone is the culprit and stays. The caller must hold l.host.mu.
func (l *slot) isolate(c crash) bool {
	h := l.host
	if h.opts.Isolation != Auto || h.closed || c.unborn || l.own && len(l.modules) == 1 {
		return false
	}
	suspects := slices.DeleteFunc(l.returning(), func(m *module) bool { return !slices.Contains(c.blamed, m) })
	if len(c.blamed) == 0 && len(l.crashes) > 1 { // A single crash may have another cause.
		suspects = l.returning()
	}
	n := min(len(suspects), h.opts.MaxOwn-(len(h.slots)-1))
	if n <= 0 {
		return false
	}
	slots := make([]*slot, n)
	for i := range slots {
		slots[i] = h.add()
	}
	for i, m := range suspects {
		to := slots[i%n]
		l.modules = slices.DeleteFunc(slices.Clone(l.modules), func(other *module) bool { return other == m })
		to.modules = append(to.modules, m)
		m.slot.Store(to)
	}
	for _, to := range slots {
		for _, old := range l.crashes {
			if len(old.blamed) == 1 && slices.Contains(to.modules, old.blamed[0]) {
				to.crashes = append(to.crashes, old)
			}
		}
		h.opts.Log.Warn("plugins get a JVM of their own, because the Java host died while it worked for them", slog.Any("plugins", names(to.modules)))
		to.begin(backOff(len(to.crashes)))
	}
	return true
}

// guilty returns the modules blamed for more than half of the crashes; if there are none, all.
func (l *slot) guilty() []*module {
	var list []*module
	all := l.returning()
	for _, m := range all {
		n := 0
		for _, c := range l.crashes {
			if slices.Contains(c.blamed, m) {
				n++
			}
		}
		if 2*n > len(l.crashes) {
			list = append(list, m)
		}
	}
	if len(list) == 0 {
		return all
	}
	return list
}

// backOff returns the pause after the n-th successive crash.
func backOff(n int) time.Duration {
	if n <= 1 {
		return 0
	}
	return min(100*time.Millisecond<<min(n-2, 10), 10*time.Second)
}
