// SPDX-License-Identifier: Apache-2.0

// Package js runs plugins that are written in JavaScript. Each plugin has an engine of its own, which one goroutine
// owns at a time: that of the plugin, at which calls wait in a queue, or that of a caller that finds the engine free.
// While a function awaits something, others run.
//
// It knows nothing of states, of who is called when, or of what a failure means: the package above does.
package js

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"runtime"
	"runtime/metrics"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"example.org/app/internal/plugin"
	"example.org/app/internal/plugin/java/remote"
	"example.org/app/internal/plugin/js/inspector"
)

// Options are what a host needs. Only Points must be there.
type Options struct {
	// Points are the extension points that plugins may name.
	Points []*plugin.Point
	// Log gets what plugins write, LogLines of each in a second; nil and 0 are no limit.
	Log      *slog.Logger
	LogLines func() int

	// MemoryLimit is how many bytes one plugin may hold; 0 is 64 MiB.
	MemoryLimit int64
	// StackSize is how many bytes of stack calls may need in one plugin; 0 is 1 MiB.
	StackSize int64
	// QueueLength is how many calls of one plugin may wait; 0 is 8192, some tenths of a second of short calls. More fail
	// at once.
	QueueLength int
	// TurnLimit is how long code of a plugin may run at a time when no call with a time limit waits for it, as in
	// timers; 0 is 5 seconds.
	TurnLimit time.Duration
	// StuckLimit is how long an engine may work on after the time of its call is over before it is given up; 0 is half a
	// second.
	StuckLimit time.Duration
	// Lanes is how many plugins may compute at once for longer than a moment; 0 is one less than there are processors, at least
	// one. More wait for their turn, which is short.
	Lanes int
	// HTTP sends the requests of fetch and load; nil is a client of the host's own.
	HTTP *http.Client
	// MaxFetches is how many requests of fetch one plugin may have under way at once; 0 is 100. More wait.
	MaxFetches int
	// ResponseLimit is how many bytes the body of a response may have; 0 is 8 MiB.
	ResponseLimit int64

	// Server is what plugins can use of the server. If it is nil, or its storage is, that is refused with a sentence.
	Server plugin.Server

	// Limited gives plugins only the hosts and classes of Java that their descriptors declare, and nothing before the
	// descriptor was read. Otherwise they have all.
	Limited bool
	// Waits refuses what a plugin declares before an administrator grants it; nil refuses nothing.
	Waits func(plugin.Descriptor) error

	// Java has the classes of Java that plugins can use. If it is nil, that is refused with a sentence.
	Java remote.Host

	// Functions are those of whoever makes the host, by name, in the global object __app_functions; nil is none, and then there
	// is no such object.
	Functions map[string]*Function
	// Clock is the time of the plugins; nil is the real one.
	Clock *Clock
	// Coverage counts the lines that run; nil counts none. CoverageDir is the folder, with slashes, to which the names of scripts
	// and sources are relative.
	Coverage    *Coverage
	CoverageDir string
	// Uncaught is told of exceptions and rejections that no code of a plugin catches; nil is nobody. It must not use the plugin.
	Uncaught func(err error)

	// Inspector is where debuggers attach; nil is none. With it, calls wait for a debugger, and with WaitToLoad even the
	// first line of a plugin does. Debugged are the files of the plugins for which that is so; empty means all.
	Inspector *inspector.Server
	// Inspect opens the server for plugins that are debugged although Inspector is nil or Debugged does not name them; nil if
	// none can be.
	Inspect    func(ctx context.Context) (*inspector.Server, error)
	Debugged   []string
	WaitToLoad bool
}

// ErrBusy is the error of a call that found the queue of its plugin full.
var ErrBusy = errors.New("too many calls of the plugin are waiting")

// A Host runs JavaScript plugins.
type Host struct {
	opts Options
	// plan prepares the extension points when the first plugin is loaded. Most servers have none when they start.
	plan func() error
	// watcher is the goroutine that sees to it that turns end; wake makes it look, unless watching says that it does.
	// ended is closed with the host.
	watcher  sync.WaitGroup
	watching atomic.Bool
	wake     chan struct{}
	ended    chan struct{}
	endOnce  sync.Once

	// lanes are for turns that take long. crowded says that goroutines wait for processors, which the watcher finds out with
	// runnable.
	lanes    gate
	crowded  atomic.Bool
	runnable [1]metrics.Sample
	crew     crew

	mu      sync.Mutex
	modules map[*module]struct{}
	closed  bool
}

// New makes a host.
func New(opts Options) (*Host, error) {
	if opts.Log == nil {
		opts.Log = slog.New(slog.DiscardHandler)
	}
	if opts.MemoryLimit == 0 {
		opts.MemoryLimit = 64 << 20
	}
	if opts.StackSize == 0 {
		opts.StackSize = 1 << 20
	}
	if opts.QueueLength == 0 {
		opts.QueueLength = 8192
	}
	if opts.TurnLimit == 0 {
		opts.TurnLimit = 5 * time.Second
	}
	if opts.StuckLimit == 0 {
		opts.StuckLimit = 500 * time.Millisecond
	}
	if opts.ResponseLimit == 0 {
		opts.ResponseLimit = 8 << 20
	}
	if opts.MaxFetches == 0 {
		opts.MaxFetches = 100
	}
	if opts.HTTP == nil {
		transport := http.DefaultTransport.(*http.Transport).Clone()
		transport.MaxIdleConnsPerHost = opts.MaxFetches // A connection that is kept need not be made.
		opts.HTTP = &http.Client{Transport: transport}
	}
	if opts.Lanes == 0 {
		opts.Lanes = max(1, runtime.GOMAXPROCS(0)-1)
	}
	h := &Host{opts: opts, modules: map[*module]struct{}{}, wake: make(chan struct{}, 1), ended: make(chan struct{})}
	h.lanes.free = opts.Lanes
	h.runnable[0].Name = "/sched/goroutines/runnable:goroutines"
	h.plan = sync.OnceValue(h.planPoints)
	h.watcher.Go(h.watch)
	return h, nil
}

// planPoints makes the codecs of all extension points, and fails if a type has no counterpart in JavaScript.
func (h *Host) planPoints() error {
	for _, p := range h.opts.Points {
		for _, m := range p.Methods {
			if _, err := planOf(m); err != nil {
				return fmt.Errorf("extension point %s: %w", p.Name, err)
			}
		}
		for _, l := range p.Listeners {
			if _, err := codecOf(l.Event); err != nil {
				return fmt.Errorf("extension point %s: events of %s: %w", p.Name, l.Name, err)
			}
		}
	}
	return nil
}

// point finds one of the extension points of the host by any of its names.
func (h *Host) point(name string) (*plugin.Point, bool) {
	if p, ok := plugin.FindPoint(name); ok && slices.Contains(h.opts.Points, p) {
		return p, true
	}
	i := slices.IndexFunc(h.opts.Points, func(p *plugin.Point) bool { return name == p.Name || name == p.FullName() })
	if i < 0 {
		return nil, false
	}
	return h.opts.Points[i], true
}

// Language is JavaScript.
func (h *Host) Language() plugin.Language { return plugin.JavaScript }

// Load makes a module of the source of a plugin. It fails if a type of an extension point has no counterpart in JavaScript.
func (h *Host) Load(ctx context.Context, src plugin.Source) (plugin.Module, error) {
	if err := h.plan(); err != nil {
		return nil, fmt.Errorf("load %q: %w", src.Name, err)
	}
	h.mu.Lock()
	if h.closed {
		h.mu.Unlock()
		return nil, fmt.Errorf("load %q: the host is closed", src.Name)
	}
	m := newModule(h, src)
	h.modules[m] = struct{}{}
	h.mu.Unlock()
	if err := m.debug.open(ctx, src); err != nil {
		h.forget(m)
		return nil, fmt.Errorf("load %q: %w", src.Name, err)
	}

	loaded := make(chan error, 1)
	go m.run(ctx, src, loaded)
	letGo := func() bool { return true }
	if m.debug.possible() {
		// A debugger that has paused the plugin knows nothing of the caller.
		letGo = context.AfterFunc(ctx, m.stop)
	}
	select {
	case err := <-loaded:
		if err == nil && !letGo() {
			err = fmt.Errorf("load %q: %w", src.Name, ctx.Err())
		}
		if err != nil {
			letGo()
			<-m.ended
			return nil, err
		}
		return m, nil
	case <-m.stuck:
		return nil, m.refuse("", "loading took too long: %v", m.dead.Load().cause)
	}
}

func (h *Host) forget(m *module) {
	if c := h.opts.Clock; c != nil {
		c.remove(m)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.modules, m)
	h.finish()
}

// finish ends the watcher when there is nothing left to watch. The caller holds the lock.
func (h *Host) finish() (over bool) {
	if !h.closed || len(h.modules) > 0 {
		return false
	}
	h.endOnce.Do(func() { close(h.ended) })
	return true
}

// Close closes the modules that are left and the connections of the host.
func (h *Host) Close(ctx context.Context) error {
	h.mu.Lock()
	h.closed = true
	left := make([]*module, 0, len(h.modules))
	for m := range h.modules {
		left = append(left, m)
	}
	h.mu.Unlock()
	var errs []error
	for _, m := range left {
		errs = append(errs, m.Close(ctx))
	}
	h.mu.Lock()
	over := h.finish()
	h.mu.Unlock()
	if over { // Otherwise the watcher ends with the last engine, which is stuck.
		h.watcher.Wait()
	}
	h.opts.HTTP.CloseIdleConnections()
	return errors.Join(errs...)
}

var _ plugin.Host = (*Host)(nil)
