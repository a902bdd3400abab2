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
	"time"

	"example.org/app/internal/plugin"
	"example.org/app/internal/plugin/js/engine"
)

// A module is a plugin with its engine, which belongs to whoever holds owner: the goroutine of run, a caller that found
// the engine free, or a debugger.
type module struct {
	host       *Host
	descriptor plugin.Descriptor
	extensions []*extension
	warnings   []string
	queue      chan *call
	posts      chan *operation
	closing    chan struct{}
	closeOnce  sync.Once
	// stopped is closed when no call is served any more, ended when nothing of the module is left.
	stopped, ended chan struct{}
	stopping       atomic.Bool
	dead           atomic.Pointer[deadError]
	memory         atomic.Int64
	helpers        sync.WaitGroup
	ctx            context.Context
	cancel         context.CancelFunc

	// current is the call that the present turn belongs to. turns counts the beginnings and the ends of turns.
	current atomic.Pointer[call]
	turns   atomic.Int64
	// spent is how long turns took that have ended, in nanoseconds.
	spent atomic.Int64
	// lane is what lets the present turn compute for long; nil if it has none.
	lane atomic.Pointer[lane]
	// computing says that the present turn has a processor in the crew of the host. It belongs to whoever owns the engine.
	computing bool
	// demand is that of turns that no caller asked for. It belongs to whoever owns the engine.
	demand demand
	// watched belongs to the watcher of the host, under the lock of the host.
	watched watched
	// died is closed when the module is dead, stuck if moreover its engine does not come back.
	died, stuck chan struct{}
	diedOnce    sync.Once
	stuckOnce   sync.Once

	// owner guards everything below.
	owner sync.Mutex
	shut  bool
	// wake tells the goroutine of run to look at its timers, javaCalls that Java calls functions.
	wake, javaCalls chan struct{}

	// grants are those of the descriptor; nil until it was read. It is read without owner.
	grants atomic.Pointer[plugin.Grants]

	name  string
	log   *slog.Logger
	lines *plugin.Lines
	// Failures takes note of those of timers and jobs, and of rejections that nobody handles.
	plugin.Failures

	engine *engine.Engine
	t      *translator
	// watch, adopt and serve are functions of the prelude, the others its classes.
	watch, adopt, serve                engine.Value
	appPlugin, appExtension, appErrors engine.Value

	// limit ends turns that belong to no call. exhausted says that the present one found no memory.
	limit     time.Time
	exhausted bool
	// inside is how many turns are in progress, one inside the other; began is when the outermost did.
	inside int
	began  time.Time
	// answering is the call whose result is read at present.
	answering *call
	// awaiting are the calls whose function has not answered yet.
	awaiting   map[int]*call
	nextCall   int
	sweepAt    int
	operations map[*operation]struct{}
	timers     timers
	unhandled  []rejection
	tasks      tasks
	// java is what the plugin has of Java; it is nil as long as the plugin has not used it.
	java *bridge
	// loading is nil except while the module is loaded; loaded tells that it was.
	loading *loading
	loaded  bool
	scripts scripts
	network network
	server  serverFunctions
	// gates bound the requests that are under way at once; unbegun are those that ended before.
	gates   gates
	unbegun unbegun

	debug debuggee
}

// deadError is why a module can no longer run anything.
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
		host:       h,
		queue:      make(chan *call, h.opts.QueueLength),
		posts:      make(chan *operation),
		closing:    make(chan struct{}),
		died:       make(chan struct{}),
		stuck:      make(chan struct{}),
		wake:       make(chan struct{}, 1),
		javaCalls:  make(chan struct{}, 1),
		stopped:    make(chan struct{}),
		ended:      make(chan struct{}),
		name:       src.Name,
		log:        h.opts.Log.With(slog.String("file", src.Name)),
		lines:      plugin.NewLines(h.opts.LogLines),
		awaiting:   map[int]*call{},
		operations: map[*operation]struct{}{},
	}
	m.tasks, m.scripts, m.network, m.server = tasks{m: m, byID: map[int]*task{}}, scripts{m: m}, network{m: m}, serverFunctions{m}
	m.debug.m = m
	if m.name == "" {
		m.name = "plugin.js"
	}
	m.unbegun.more = make(chan struct{}, 1)
	m.ctx, m.cancel = context.WithCancel(context.Background())
	m.gates.fetches.free, m.gates.server.free, m.gates.crypto.free = h.opts.MaxFetches, maxAsking, max(1, runtime.NumCPU()/2)
	m.gates.fresh.free, m.gates.crew = max(1, runtime.NumCPU()-1), &h.crew
	m.timers.init()
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

// end waits for the helpers of the module, which its context has ended.
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

// shutdown fails the calls that are left and frees everything.
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
		case c := <-m.queue:
			if c.state.CompareAndSwap(queued, finishing) {
				c.finish(false, err)
			}
			continue
		default:
		}
		break
	}
	for _, c := range m.awaiting {
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

// release gives up all values that the module holds.
func (m *module) release() {
	for op := range m.operations {
		op.free(m)
	}
	m.timers.free(&m.engine.Values)
	for _, t := range m.tasks.byID {
		m.engine.Free(t.function)
	}
	for _, r := range m.unhandled {
		m.engine.Free(r.promise)
		m.engine.Free(r.reason)
	}
	for _, x := range m.extensions {
		x.free(&m.engine.Values)
	}
	for _, v := range []engine.Value{m.watch, m.adopt, m.serve, m.appPlugin, m.appExtension, m.appErrors} {
		m.engine.Free(v)
	}
	if m.java != nil {
		m.java.free()
	}
	m.t.close()
}

// gone is why nothing runs any more.
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

// Close ends the module. It does not wait for an engine that is stuck.
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
