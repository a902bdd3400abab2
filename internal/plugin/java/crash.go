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

// A crash is an end of a JVM that nobody wanted.
type crash struct {
	at time.Time
	// blamed are the modules that it worked for, or the one that is known to have ended it.
	blamed []*module
	why    error
	// unborn says that the JVM never came up, past that a plugin ended it that was removed.
	unborn, past bool
}

// leaving takes note that a plugin called System.exit. The JVM goes on until the server, which is told, has stopped all
// plugins; the calls of the one that wants to leave fail.
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

// error is what calls fail with that cannot be answered any more.
func (e *exit) error() error {
	who := "a plugin"
	if e.module != nil {
		who = fmt.Sprintf("plugin %q", e.module.descriptor.ID)
	}
	return fmt.Errorf("%s stops the server by System.exit(%d)", who, e.status)
}

// crasher returns the module whose code crashed the JVM: the one that alone has the innermost class on the stack of the
// thread that crashed which any module has. It is nil if that is not known.
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
			continue // It was unloaded at this moment.
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

// hoarder returns the number of the plugin that filled the heap of the JVM, from what the JVM wrote when it ended for want of
// memory.
func (s *session) hoarder() (number uint64, holds string, ok bool) {
	data, err := os.ReadFile(s.heapFile)
	if err != nil {
		return 0, "", false // It had memory, or could not write.
	}
	if err := os.Remove(s.heapFile); err != nil {
		s.log.Warn("a heap dump is left behind", slog.Any("error", err))
	}
	held, err := heapdump.Read(data)
	if err != nil {
		s.log.Warn("it is not known which plugin holds the memory of the Java host", slog.Any("error", err))
		return 0, "", false
	}
	n, bytes, ok := held.Hoarder()
	s.mu.Lock()
	defer s.mu.Unlock()
	if !ok || s.modules[uint64(n)] == nil && !s.removed[uint64(n)] {
		return 0, "", false // The number of a plugin that is being loaded is not known here yet.
	}
	return uint64(n), fmt.Sprintf("%d of %d MiB", bytes>>20, held.Total>>20), true
}

// died takes note that a JVM ended by itself.
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
		return // Whoever brings it up sees it.
	}
	l.current = nil
	again, delay, tell := l.crashed(s.crash())
	if again && !h.closed {
		l.begin(delay)
	}
	h.mu.Unlock()
	tell()
}

// crash is what there is to know of the end of the session.
func (s *session) crash() crash {
	known := s.culprit.Load()
	return crash{at: time.Now(), blamed: s.blamed, why: s.why, past: known != nil && known.module == nil}
}

// crashed takes note of a crash, and says whether the JVM is started again and after what time. Suspects go elsewhere, if
// they may. If there were too many crashes, the plugins that seem to be to blame do not come back; tell, which must be
// called without the lock, says so.
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
		// Most likely it was that one, which is not loaded then.
		return len(l.returning()) > 0, backOff(len(l.crashes)), func() {}
	}
	known := slices.DeleteFunc(slices.Clone(c.blamed), func(m *module) bool { return !slices.Contains(l.modules, m) })
	if len(c.blamed) == 0 || len(known) > 0 { // Else it was a plugin in another language.
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

// names are the names of modules, for the log.
func names(list []*module) []string {
	var names []string
	for _, m := range list {
		names = append(names, cmp.Or(m.descriptor.ID, m.name))
	}
	slices.Sort(names)
	return names
}

// isolate moves the suspects of a crash into JVMs of their own, and reports whether there were any to move. A plugin that
// is alone already is the culprit. The host is locked.
func (l *slot) isolate(c crash) bool {
	h := l.host
	if h.opts.Isolation != Auto || h.closed || c.unborn || l.own && len(l.modules) == 1 {
		return false
	}
	suspects := slices.DeleteFunc(l.returning(), func(m *module) bool { return !slices.Contains(c.blamed, m) })
	if len(c.blamed) == 0 && len(l.crashes) > 1 { // Once may have been somebody else.
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

// guilty are the modules for which the JVM worked in most of the crashes; if there are none, all.
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

// backOff is how long to wait after the nth crash in a row.
func backOff(n int) time.Duration {
	if n <= 1 {
		return 0
	}
	return min(100*time.Millisecond<<min(n-2, 10), 10*time.Second)
}
