// SPDX-License-Identifier: Apache-2.0

// Package java runs plugins that are written in Java. They run in a JVM beside the server, or in several, which the package
// starts with the first plugin, speaks to over two pipes each, and starts anew when they die.
//
// It knows nothing of who is called when, or of what a failure means: the package above does. What happens inside the
// JVM is the business of the program in sdk/java.
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

// Options are what a host needs. All may be missing.
type Options struct {
	// Home is the folder of the Java to use; if it is empty, one is looked for.
	Home string
	// Isolation says which plugins share a JVM; "" is Shared.
	Isolation Isolation
	// MaxOwn is how many JVMs Auto adds at most; 0 is 8. Suspects share them if there are more.
	MaxOwn int
	// MaxHeap is how many bytes the heap of a JVM may have; 0 is 64 MiB.
	MaxHeap int64
	// MaxPending is how many calls may be on their way at once; 0 is 10,000. More fail at once.
	MaxPending int
	// Strict refuses plugins with classes that the host has as well.
	Strict bool
	// Debug says where debuggers attach.
	Debug Debug
	// Spare lets the host keep a JVM without plugins while there are plugins, which takes the place of the next one that dies.
	// It is started SpareDelay after it is wanted; 0 is 3 seconds. While debuggers can attach there is none.
	Spare      bool
	SpareDelay time.Duration
	// Nice is how much niceness a JVM has more than this process, on Linux; 0 is none.
	Nice int
	// Flags are further ones of the JVM.
	Flags []string
	// Folder is where the copies of jars lie; if it is empty, in the system's folder for temporary files.
	Folder string

	// ClassCache is the folder of the class caches, with which JVMs start faster; if it is empty, there are none. MakeClassCache lets
	// the host make the one that it needs, ClassCacheDelay after a JVM came up without it; 0 is 10 seconds. While debuggers can
	// attach none is used.
	ClassCache      string
	MakeClassCache  bool
	ClassCacheDelay time.Duration

	// Data is where each plugin has a folder for its files; if it is empty, plugins have none.
	Data string

	// Server is what plugins can use of the server. If it is nil, or its storage is, that is refused with a sentence.
	Server plugin.Server
	// Log gets what plugins and the JVM write, LogLines of each plugin in a second; nil and 0 are no limit.
	Log      *slog.Logger
	LogLines func() int
	// HookTimeout is how long a hook may take when plugins are brought back after a crash; nil is 30 seconds.
	HookTimeout func() time.Duration
	// Broken is told of an extension that could not be brought back after a crash, or whose plugin crashed the JVM again
	// and again. An empty class stands for all extensions of the plugin; again says that trying to start it once more
	// can help. It must not block.
	Broken func(module plugin.Module, class, why string, again bool)
	// Exit is told that a plugin ended the JVM by System.exit, by which it means the server. It must not block. The id is
	// empty if it is not known which plugin it was. If Exit is nil, that is a crash like any other.
	// The JVM ends when the host is closed.
	Exit func(pluginID string, status int)
	// RefuseExit lets System.exit throw an exception in plugins.
	RefuseExit bool
	// Chunks gets a file of chunks that the JVM with a process id recorded, and removes it. It must not call the host.
	Chunks func(path string, process int)
	// MaxMemory is how many bytes one plugin may hold; nil and 0 are no limit. With Auto, a plugin that allocates most in a
	// JVM that holds more gets one of its own, so that it is known what it holds.
	MaxMemory func() int64
	// Runaway is how long work that nobody waits for may go on before the JVM that it is in is ended; 0 is 5 seconds.
	Runaway time.Duration
	// Crashes is how many crashes within CrashWindow are too many; 0 are 5 within a minute.
	Crashes     int
	CrashWindow time.Duration
}

// Isolation says which plugins share a JVM. While debuggers can attach all do.
type Isolation string

const (
	// Shared lets all plugins share a JVM.
	Shared Isolation = "SHARED"
	// Own gives each plugin a JVM of its own.
	Own Isolation = "OWN"
	// Auto lets plugins share a JVM until one is suspected of having ended it. Suspects get a JVM of their own, so that the
	// next crash names its culprit.
	Auto Isolation = "AUTO"
)

// Debug says how plugins are debugged.
type Debug struct {
	// Port is where debuggers attach, on this machine only; 0 is nowhere. With it, time limits of calls and hooks do not
	// count.
	Port int
	// Suspend lets the JVM wait for a debugger before it does anything.
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
	// late are those who wait for plugins that nobody wants any more. They end with the JVM at the latest.
	late sync.WaitGroup

	// shared is the slot of all plugins that have none of their own, and of the objects; slots are all.
	shared *slot
	// folderMu guards the folder; it is taken before mu.
	folderMu sync.Mutex
	folder   folder
	jar      string
	copies   int
	cache    classCache
	// objects are those that plugins in other languages use.
	objects objects
	// recordMu lets only one request for recordings be on its way.
	recordMu sync.Mutex

	mu       sync.Mutex
	slots    []*slot
	spare    spare
	restarts int64
	closed   bool
}

// New makes a host. It starts nothing. It fails if a type of an extension point has no counterpart in Java.
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
		opts.Isolation, opts.Spare = Shared, false // Only one JVM can have the port.
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

// Language is Java.
func (h *Host) Language() plugin.Language { return plugin.Java }

// Load makes a module of a jar.
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
		defer clock.Hold()() // What a debugger holds, the JVM does not say.
	}
	if err := m.load(ctx, src.Data); err != nil {
		return nil, err
	}
	l.adopt(m)
	return m, nil
}

// enter returns the slot into which the next plugin is loaded.
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

// add adds a slot. The host is locked.
func (h *Host) add() *slot {
	l := &slot{host: h, own: true}
	h.slots = append(slices.Clip(h.slots), l)
	return l
}

// drop removes a slot that nobody needs.
func (h *Host) drop(l *slot) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !l.needed() {
		h.slots = slices.DeleteFunc(slices.Clone(h.slots), func(other *slot) bool { return other == l })
	}
}

// forget removes a module, and returns the slot that it was in.
func (h *Host) forget(m *module) *slot {
	h.mu.Lock()
	defer h.mu.Unlock()
	l := m.slot.Load()
	l.modules = slices.DeleteFunc(slices.Clone(l.modules), func(other *module) bool { return other == m })
	return l
}

// PrepareClassCache makes the class cache unless there is one, or another process makes it. It starts a JVM that does what the
// next ones do, and writes down which classes that needed.
func (h *Host) PrepareClassCache(ctx context.Context) error { return h.cache.prepare(ctx, h.opts.Nice) }

// severalNodes reports whether the process is a node for each role.
func (h *Host) severalNodes() bool {
	s := h.opts.Server
	return s != nil && s.Node(role.Gateway).Role != s.Node(role.Service).Role
}

// hasPlugins reports whether there are plugins for which a spare is kept. The host is locked.
func (h *Host) hasPlugins() bool {
	return slices.ContainsFunc(h.slots, func(l *slot) bool { return len(l.modules) > 0 })
}

// Close ends the modules that are left and the JVMs.
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

// errHostClosed is that the server stops.
var errHostClosed = errors.New("the Java host is closed")

// describeLoss says why a request that was on its way has no answer.
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
