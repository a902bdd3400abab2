// SPDX-License-Identifier: Apache-2.0

package js

import (
	"context"
	"errors"
	"log/slog"
	"runtime"
	"runtime/debug"
	"sync"
	"sync/atomic"

	"example.org/app/internal/plugin"
	"example.org/app/internal/plugin/js/engine"
)

// A module is a plugin with its engine, which belongs to the holder of owner: the goroutine of run,
// a caller that found the engine free, or a debugger.
type module struct {
	host       *Host
	descriptor plugin.Descriptor
	extensions []*extension
	warnings   []string
	closing    chan struct{}
	closeOnce  sync.Once
	// stopped is closed when no call is served any more, ended when everything is freed.
	stopped, ended chan struct{}
	stopping       atomic.Bool
	dead           atomic.Pointer[deadError]
	memory         atomic.Int64
	helpers        sync.WaitGroup
	ctx            context.Context
	cancel         context.CancelFunc

	// died is closed when the module is dead, stuck if its engine also does not return.
	died, stuck chan struct{}
	diedOnce    sync.Once
	stuckOnce   sync.Once

	// owner guards everything below.
	owner sync.Mutex
	shut  bool
	// wake makes the goroutine of run check its timers, javaCalls signals calls of Java.
	wake, javaCalls chan struct{}

	// grants are those of the descriptor; nil until it was read. Reading needs no lock.
	grants atomic.Pointer[plugin.Grants]

	name string
	log  *slog.Logger
	// Failures records those of timers and jobs, and unhandled rejections.
	plugin.Failures

	engine *engine.Engine
	t      *translator
	// exhausted is true if memory was exhausted in the current turn.
	exhausted  bool
	turns      turns
	calls      calls
	operations operations
	timers     timers
	tasks      tasks
	globals    globals
	console    console
	uncaught   uncaught
	// java is the plugin's bridge to Java; nil until it is used.
	java *bridge
	// loading is nil except while the module is loaded; loaded is true afterwards.
	loading *loading
	loaded  bool
	scripts scripts
	network network
	server  serverFunctions
	// gates limit the running requests.
	gates gates

	debug debuggee
}

// deadError is why a module can no longer run.
type deadError struct{ cause error }

func (e *deadError) Error() string {
	return "the plugin is dead and must be loaded anew: " + e.cause.Error()
}

func (e *deadError) Unwrap() []error { return []error{plugin.ErrDead, e.cause} }

// leaked counts objects that were not freed when their module closed.
var leaked atomic.Int64

var errClosed = errors.New("the plugin is closed")

func newModule(h *Host, src plugin.Source) *module {
	m := &module{
		host:      h,
		closing:   make(chan struct{}),
		died:      make(chan struct{}),
		stuck:     make(chan struct{}),
		wake:      make(chan struct{}, 1),
		javaCalls: make(chan struct{}, 1),
		stopped:   make(chan struct{}),
		ended:     make(chan struct{}),
		name:      src.Name,
		log:       h.opts.Log.With(slog.String("file", src.Name)),
	}
	m.tasks, m.scripts, m.network, m.server = tasks{m: m, byID: map[int]*task{}}, scripts{m: m}, network{m: m}, serverFunctions{m}
	m.turns.m, m.globals.m, m.uncaught.m, m.debug.m = m, m, m, m
	m.calls = calls{m: m, queue: make(chan *call, h.opts.QueueLength), awaiting: map[int]*call{}}
	m.operations = operations{m: m, posts: make(chan *operation), pending: map[*operation]struct{}{}, unbegun: unbegun{more: make(chan struct{}, 1)}}
	m.timers = timers{m: m, byID: map[int]*timer{}}
	m.console = console{m: m, lines: plugin.NewLines(h.opts.LogLines)}
	if m.name == "" {
		m.name = "plugin.js"
	}
	m.ctx, m.cancel = context.WithCancel(context.Background())
	m.gates.fetches.free, m.gates.server.free, m.gates.crypto.free = h.opts.MaxFetches, maxAsking, max(1, runtime.NumCPU()/2)
	m.gates.fresh.free, m.gates.crew = max(1, runtime.NumCPU()-1), &h.crew
	if c := h.opts.Clock; c != nil {
		c.add(m)
	}
	return m
}

// run is the goroutine of the module, from loading to closing.
func (m *module) run(ctx context.Context, src plugin.Source, loaded chan<- error) {
	defer m.end()
	// A fault in the engine costs the plugin, not the server.
	debug.SetPanicOnFault(true)
	m.owner.Lock()
	err := m.load(ctx, src)
	m.owner.Unlock()
	if err != nil {
		m.stopping.Store(true)
		m.shutdown()
		loaded <- err
		return
	}
	loaded <- nil
	m.loop()
	m.shutdown()
}

// end waits for the helpers of the module, whose context has ended.
func (m *module) end() {
	m.cancel()
	m.closeOnce.Do(func() { close(m.closing) })
	m.helpers.Wait()
	if m.java != nil && m.java.owner != nil {
		m.java.owner.Close(context.Background())
	}
	if m.debug.target != nil {
		<-m.debug.target.Ended()
	}
	m.host.forget(m)
	close(m.ended)
}

// shutdown fails the remaining calls and frees everything.
func (m *module) shutdown() {
	m.stopping.Store(true)
	m.cancel()
	m.owner.Lock()
	defer m.owner.Unlock()
	defer close(m.stopped)
	m.shut = true
	err := m.gone()
	for {
		select {
		case c := <-m.calls.queue:
			if c.state.CompareAndSwap(queued, finishing) {
				c.finish(false, err)
			}
			continue
		default:
		}
		break
	}
	for _, c := range m.calls.awaiting {
		if c.state.CompareAndSwap(running, finishing) {
			c.finish(false, err)
		}
	}
	m.timers.stop()
	if m.debug.target != nil {
		m.debug.target.Close()
	}
	if m.engine != nil {
		if m.engine.Err() == nil {
			m.release()
		}
		if left := m.engine.Close(); left > 0 {
			leaked.Add(int64(left))
			m.log.Warn("objects of a plugin were not freed", slog.Int("count", left))
		}
		m.memory.Store(0)
	}
	if m.scripts.folder != nil {
		m.scripts.folder.Close()
	}
}

// release frees all values of the module.
func (m *module) release() {
	for op := range m.operations.pending {
		op.free(m)
	}
	m.timers.free(&m.engine.Values)
	for _, t := range m.tasks.byID {
		m.engine.Free(t.function)
	}
	m.uncaught.free()
	for _, x := range m.extensions {
		x.free(&m.engine.Values)
	}
	m.globals.free()
	if m.java != nil {
		m.java.free()
	}
	m.t.close()
}

// gone returns why nothing runs any more.
func (m *module) gone() error {
	if d := m.dead.Load(); d != nil {
		return d
	}
	return errClosed
}

// Descriptor is what the plugin says of itself.
func (m *module) Descriptor() plugin.Descriptor { return m.descriptor }

// Extensions are the extensions in the order in which the plugin names them.
func (m *module) Extensions() []plugin.Extension {
	list := make([]plugin.Extension, len(m.extensions))
	for i, x := range m.extensions {
		list[i] = x
	}
	return list
}

// Warnings are what the author of the plugin should know, though it was loaded.
func (m *module) Warnings() []string { return m.warnings }

// Memory is how many bytes the engine holds.
func (m *module) Memory() int64 { return m.memory.Load() }

// Close ends the module. It does not wait for a stuck engine.
func (m *module) Close(ctx context.Context) error {
	m.stop()
	select {
	case <-m.ended:
		return nil
	case <-m.stuck:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// stop makes the module end.
func (m *module) stop() {
	m.stopping.Store(true)
	m.closeOnce.Do(func() { close(m.closing) })
}

var (
	_ plugin.Module     = (*module)(nil)
	_ plugin.Unattended = (*module)(nil)
)
