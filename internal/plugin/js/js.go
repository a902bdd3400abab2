// SPDX-License-Identifier: Apache-2.0

// Package js runs plugins written in JavaScript. Each plugin has an engine of its own, which one
// goroutine owns at a time: the plugin's, which serves a queue of calls, or that of a caller that
// finds the engine free. While a function awaits something, others run.
//
// It does not decide states, what is called when, or what a failure means: package plugin does.
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

// Options configure a host. Only Points is required.
type Options struct {
	// Points are the available extension points.
	Points []*plugin.Point
	// Log receives the output of plugins, LogLines per second of each; nil and 0 mean no limit.
	Log      *slog.Logger
	LogLines func() int

	// MemoryLimit is the maximum memory of one plugin in bytes; 0 means 64 MiB.
	MemoryLimit int64
	// StackSize is the maximum stack of calls in one plugin in bytes; 0 means 1 MiB.
	StackSize int64
	// QueueLength is the maximum number of queued calls of one plugin; 0 means 8192, some tenths of
	// a second of short calls. Further ones fail at once.
	QueueLength int
	// TurnLimit is how long code of a plugin may run at a time without a call's time limit, as in
	// timers; 0 means 5 seconds.
	TurnLimit time.Duration
	// StuckLimit is how long an engine may continue after its call timed out before it is
	// abandoned; 0 means half a second.
	StuckLimit time.Duration
	// Lanes is how many plugins may compute for longer at once; 0 means one less than there are
	// processors, at least one. Others wait briefly for their turn.
	Lanes int
	// HTTP is the client for fetch and load; nil means the host's own.
	HTTP *http.Client
	// MaxFetches is the maximum number of running requests of one plugin; 0 means 100. Further ones
	// wait.
	MaxFetches int
	// ResponseLimit is the maximum size of a response body in bytes; 0 means 8 MiB.
	ResponseLimit int64

	// Server provides the server's functions. If it, or its storage, is nil, using them is an
	// error.
	Server plugin.Server

	// Limited restricts plugins to the hosts and Java classes that their descriptors declare, and
	// to none before the descriptor was read. Otherwise they have all.
	Limited bool
	// Waits returns an error if an administrator must still grant what a plugin declares; nil never
	// does.
	Waits func(plugin.Descriptor) error

	// Java provides the Java classes. If nil, using them is an error.
	Java remote.Host

	// Functions are functions of the host's owner, by name, in the global object __app_functions;
	// nil means none, and no such object.
	Functions map[string]*Function
	// Clock is the time of the plugins; nil means the real time.
	Clock *Clock
	// Coverage counts the lines that run; nil counts none. CoverageDir is the slash-separated
	// folder to which the names of scripts and sources are relative.
	Coverage    *Coverage
	CoverageDir string
	// Uncaught is called with exceptions and rejections that a plugin does not catch; it may be
	// nil. It must not use the plugin.
	Uncaught func(err error)

	// Inspector is where debuggers attach; nil means none. With it, calls wait for a debugger, and
	// with WaitToLoad so does the first line of a plugin. Debugged are the files of the plugins
	// concerned; empty means all.
	Inspector *inspector.Server
	// Inspect opens the inspector for plugins that are debugged although Inspector is nil or
	// Debugged does not contain them; nil if none can be.
	Inspect    func(ctx context.Context) (*inspector.Server, error)
	Debugged   []string
	WaitToLoad bool
}

// ErrBusy means that the plugin's queue was full.
var ErrBusy = errors.New("too many calls of the plugin are waiting")

// A Host runs JavaScript plugins.
type Host struct {
	opts Options
	// plan prepares the extension points when the first plugin is loaded. Most servers have none
	// when they start.
	plan func() error
	// watcher is the goroutine that enforces the end of turns; wake starts it unless watching is
	// true. ended is closed with the host.
	watcher  sync.WaitGroup
	watching atomic.Bool
	wake     chan struct{}
	ended    chan struct{}
	endOnce  sync.Once

	// lanes are for long turns. crowded is true if goroutines wait for processors, which the
	// watcher finds out with runnable.
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
		transport.MaxIdleConnsPerHost = opts.MaxFetches // Idle connections can be reused.
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

// planPoints makes the codecs of all extension points, and fails if a type has no counterpart in
// JavaScript.
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

// point finds an extension point of the host by any of its names.
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

// Load makes a module of the source of a plugin. It fails if a type of an extension point has no
// counterpart in JavaScript.
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

// finish ends the watcher if there is nothing left to watch. The caller holds the lock.
func (h *Host) finish() (over bool) {
	if !h.closed || len(h.modules) > 0 {
		return false
	}
	h.endOnce.Do(func() { close(h.ended) })
	return true
}

// Close closes the remaining modules and the connections of the host.
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
