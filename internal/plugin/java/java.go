// SPDX-License-Identifier: Apache-2.0

// Package java runs plugins written in Java, in one or several JVMs beside the server. It
// starts a JVM when the first plugin is loaded, communicates with each JVM over two pipes, and
// restarts it when it dies.
//
// It does not decide what is called when, or what a failure means: package plugin does. The program
// inside the JVM is in sdk/java.
package java

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"example.org/app/internal/plugin"
	"example.org/app/internal/role"
)

// Options configure a host. All are optional.
type Options struct {
	// Home is the folder of the Java installation; if empty, Find searches for one.
	Home string
	// Isolation defines which plugins share a JVM; "" means Shared.
	Isolation Isolation
	// MaxOwn is the maximum number of JVMs that Auto adds; 0 means 8. Further suspects share them.
	MaxOwn int
	// MaxHeap is the maximum heap of a JVM in bytes; 0 means 64 MiB.
	MaxHeap int64
	// MaxPending is the maximum number of pending requests of a JVM; 0 means 10,000. Further ones
	// fail with ErrBusy.
	MaxPending int
	// Strict rejects plugins that contain classes of the host.
	Strict bool
	// Debug configures debugging.
	Debug Debug
	// Spare keeps an idle JVM while plugins are loaded, to replace the next one that dies. It is
	// started after SpareDelay; 0 means 3 seconds. Spare is ignored if Debug.Port is set.
	Spare      bool
	SpareDelay time.Duration
	// Nice is the additional niceness of a JVM, on Linux; 0 means none.
	Nice int
	// Flags are additional JVM flags.
	Flags []string
	// Folder is the parent of the folder with copies of jars; if empty, os.TempDir is used.
	Folder string

	// ClassCache is the folder of the class caches, with which JVMs start faster; empty means
	// none. MakeClassCache makes the host create a missing cache, ClassCacheDelay after a JVM
	// started without it; 0 means 10 seconds. No cache is used if Debug.Port is set.
	ClassCache      string
	MakeClassCache  bool
	ClassCacheDelay time.Duration

	// CrashReports is the folder that keeps the reports of crashed JVMs; if empty, none are kept.
	CrashReports string

	// Data is the parent of the plugins' data folders; if empty, plugins have none.
	Data string

	// Server provides the server's functions. If it or its storage is nil, calls of them fail.
	Server plugin.Server
	// Log receives the output of plugins and the JVM. LogLines returns the maximum number of
	// lines per second and plugin; nil and 0 mean no limit.
	Log      *slog.Logger
	LogLines func() int
	// HookTimeout returns the time limit of hooks when plugins are restored after a crash; nil
	// means 30 seconds.
	HookTimeout func() time.Duration
	// Broken is called for an extension that could not be restored after a crash, or whose plugin
	// crashed the JVM repeatedly. An empty class means all extensions of the plugin; again is true
	// if restarting may help. It must not block.
	Broken func(module plugin.Module, class, why string, again bool)
	// Exit is called when a plugin calls System.exit, to stop the server. It must not block.
	// pluginID is empty if the plugin is unknown. If Exit is nil, the call counts as a crash;
	// otherwise the JVM continues until the host is closed.
	Exit func(pluginID string, status int)
	// RefuseExit makes System.exit throw an exception in plugins.
	RefuseExit bool
	// Chunks receives a file of recorded chunks of the JVM with a process id, and removes it. It
	// must not call the host.
	Chunks func(path string, process int)
	// MaxMemory is the maximum memory of one plugin; nil and 0 mean no limit. With Auto, the plugin
	// with the most allocations in a JVM above the limit gets its own JVM, so that its memory can
	// be measured.
	MaxMemory func() int64
	// Runaway is how long abandoned work may continue before its JVM is stopped; 0 means 5
	// seconds.
	Runaway time.Duration
	// Crashes is the number of crashes within CrashWindow after which the likely culprits are not
	// restored; 0 means 5 crashes and a minute.
	Crashes     int
	CrashWindow time.Duration
}

// Isolation defines which plugins share a JVM. If Debug.Port is set, all do.
type Isolation string

const (
	// Shared lets all plugins share a JVM.
	Shared Isolation = "SHARED"
	// Own gives each plugin its own JVM.
	Own Isolation = "OWN"
	// Auto shares a JVM until plugins are suspected of having crashed it. Suspects get their own
	// JVMs, so that the next crash identifies the culprit.
	Auto Isolation = "AUTO"
)

// Debug configures debugging.
type Debug struct {
	// Port is the port on localhost to which debuggers attach; 0 disables debugging. If it is
	// set, calls and hooks have no time limits.
	Port int
	// Suspend makes the JVM wait for a debugger at startup.
	Suspend bool
}

// A Host runs Java plugins.
type Host struct {
	opts    Options
	plans   map[*plugin.Method]*plan
	methods []*plugin.Method
	ctx     context.Context
	cancel  context.CancelFunc
	work    sync.WaitGroup
	// late counts goroutines waiting for abandoned loads. They end with the JVM at the latest.
	late sync.WaitGroup

	// shared is the slot of all plugins without their own, and of the objects; slots are all.
	shared *slot
	// folderMu guards the folder; it is taken before mu.
	folderMu sync.Mutex
	folder   folder
	jar      string
	copies   int
	cache    classCache
	// objects are Java objects used by plugins in other languages.
	objects objects
	// recordMu serialises requests for recordings.
	recordMu sync.Mutex

	mu       sync.Mutex
	slots    []*slot
	spare    spare
	restarts int64
	closed   bool
}

// New returns a host without starting a JVM. It fails if a type of an extension point has no
// counterpart in Java.
func New(opts Options) (*Host, error) {
	if opts.MaxOwn == 0 {
		opts.MaxOwn = 8
	}
	if opts.MaxHeap == 0 {
		opts.MaxHeap = 64 << 20
	}
	if opts.MaxPending == 0 {
		opts.MaxPending = 10_000
	}
	if opts.Folder == "" {
		opts.Folder = os.TempDir()
	}
	if opts.Log == nil {
		opts.Log = slog.New(slog.DiscardHandler)
	}
	if opts.HookTimeout == nil {
		opts.HookTimeout = func() time.Duration { return 30 * time.Second }
	}
	if opts.Broken == nil {
		opts.Broken = func(plugin.Module, string, string, bool) {}
	}
	if opts.Chunks == nil {
		opts.Chunks = func(path string, _ int) { _ = os.Remove(path) }
	}
	if opts.MaxMemory == nil {
		opts.MaxMemory = func() int64 { return 0 }
	}
	if opts.Runaway == 0 {
		opts.Runaway = 5 * time.Second
	}
	if opts.SpareDelay == 0 {
		opts.SpareDelay = 3 * time.Second
	}
	if opts.ClassCacheDelay == 0 {
		opts.ClassCacheDelay = 10 * time.Second
	}
	if opts.Crashes == 0 {
		opts.Crashes = 5
	}
	if opts.CrashWindow == 0 {
		opts.CrashWindow = time.Minute
	}
	if opts.Debug.Port != 0 {
		opts.Isolation, opts.Spare = Shared, false // Only one JVM can use the port.
	}
	h := &Host{opts: opts}
	if opts.ClassCache != "" {
		dir, err := filepath.Abs(opts.ClassCache)
		if err != nil {
			return nil, fmt.Errorf("find the folder of class caches: %w", err)
		}
		h.cache.dir = dir
	}
	h.cache.host, h.spare.host = h, h
	h.shared = &slot{host: h}
	h.slots = []*slot{h.shared}
	var err error
	if h.plans, h.methods, err = newPlans(plugin.Points); err != nil {
		return nil, err
	}
	h.ctx, h.cancel = context.WithCancel(context.Background())
	return h, nil
}

// Language returns plugin.Java.
func (h *Host) Language() plugin.Language { return plugin.Java }

// Load loads the plugin of a jar, starting a JVM if necessary.
func (h *Host) Load(ctx context.Context, src plugin.Source) (plugin.Module, error) {
	m, err := newModule(h, src)
	if err != nil {
		return nil, err
	}
	l := h.enter()
	m.slot.Store(l)
	defer func() {
		h.mu.Lock()
		l.loading--
		h.mu.Unlock()
		l.rest(ctx)
	}()
	if clock := plugin.HeldOf(ctx); clock != nil && h.opts.Debug.Port != 0 {
		defer clock.Hold()() // The JVM does not report a debugger's pauses.
	}
	if err := m.load(ctx, src.Data); err != nil {
		return nil, err
	}
	l.adopt(m)
	return m, nil
}

// enter returns the slot for the next plugin, and counts the load in it.
func (h *Host) enter() *slot {
	h.mu.Lock()
	defer h.mu.Unlock()
	l := h.shared
	if h.opts.Isolation == Own {
		l = h.add()
	}
	l.loading++
	return l
}

// add adds a slot for suspects or a single plugin. The caller must hold h.mu.
func (h *Host) add() *slot {
	l := &slot{host: h, own: true}
	h.slots = append(slices.Clip(h.slots), l)
	return l
}

// drop removes a slot unless it is needed.
func (h *Host) drop(l *slot) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !l.needed() {
		h.slots = slices.DeleteFunc(slices.Clone(h.slots), func(other *slot) bool { return other == l })
	}
}

// forget removes a module, and returns its former slot.
func (h *Host) forget(m *module) *slot {
	h.mu.Lock()
	defer h.mu.Unlock()
	l := m.slot.Load()
	l.modules = slices.DeleteFunc(slices.Clone(l.modules), func(other *module) bool { return other == m })
	return l
}

// PrepareClassCache creates the class cache unless it exists, or another process is creating it. It
// runs a JVM with the usual operations, and records the classes that it loads.
func (h *Host) PrepareClassCache(ctx context.Context) error { return h.cache.prepare(ctx, h.opts.Nice) }

// severalNodes reports whether the process is a node for each role.
func (h *Host) severalNodes() bool {
	s := h.opts.Server
	return s != nil && s.Node(role.Gateway).Role != s.Node(role.Service).Role
}

// hasPlugins reports whether a slot has plugins, for which a spare is kept. The caller must
// hold h.mu.
func (h *Host) hasPlugins() bool {
	return slices.ContainsFunc(h.slots, func(l *slot) bool { return len(l.modules) > 0 })
}

// Close closes the remaining modules and stops the JVMs.
func (h *Host) Close(ctx context.Context) error {
	h.mu.Lock()
	h.closed = true
	var left []*module
	for _, l := range h.slots {
		left = append(left, l.modules...)
	}
	h.mu.Unlock()
	h.cancel()
	var errs []error
	for _, m := range left {
		errs = append(errs, m.Close(ctx))
	}
	h.work.Wait()
	h.spare.end(ctx)
	h.mu.Lock()
	slots := h.slots
	h.mu.Unlock()
	var wg sync.WaitGroup
	for _, l := range slots {
		wg.Go(func() { l.rest(ctx) })
	}
	wg.Wait()
	h.late.Wait()
	return errors.Join(errs...)
}

// errHostClosed reports that the host was closed.
var errHostClosed = errors.New("the Java host is closed")

// describeLoss waits until the session has ended and adds the reason to errEnded. It returns
// other errors unchanged, and errEnded if ctx ends first.
func (s *session) describeLoss(ctx context.Context, err error) error {
	if !errors.Is(err, errEnded) {
		return err
	}
	select {
	case <-s.over:
		return fmt.Errorf("%w: %w", errEnded, s.why)
	case <-ctx.Done():
		return err
	}
}

var _ plugin.Host = (*Host)(nil)
