// SPDX-License-Identifier: Apache-2.0

package inspector

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"
	"unicode/utf16"

	"example.org/app/internal/plugin/js/engine"
)

// A Plugin is what the package above tells of a plugin.
type Plugin struct {
	// Title is what people read.
	Title  string
	Engine *engine.Engine
	// Own runs f on the engine while nobody else uses it, or not at all if the plugin has ended.
	Own func(f func())
	// Resumed is called on the goroutine that owns the engine when a debugger lets the plugin go on.
	Resumed func()
	// Closing is closed when the plugin must end.
	Closing <-chan struct{}
	// Free says that nothing waits for a debugger.
	Free bool
	// Loads says that Load will be called. A debugger that lets the plugin run before that stops it all the same.
	Loads bool
}

// A Target is a plugin that can be debugged.
type Target struct {
	server *Server
	id     string
	plugin Plugin
	engine *engine.Engine
	done   chan struct{}
	ended  chan struct{}
	once   sync.Once
	tasks  tasks
	// active tells that somebody wants to stop the plugin.
	active atomic.Bool
	// terminated tells that the code that runs is to end.
	terminated atomic.Bool

	mu       sync.Mutex
	sessions sessions
	// gate is closed while a debugger lets calls run.
	gate    chan struct{}
	open    bool
	waiting int
	loading bool // Load is not called yet.
	// retired tells that the plugin goes away and is not held any more.
	retired bool
	visits  map[*visit]struct{}

	scripts     scripts
	breakpoints map[string]*breakpoint
	inactive    bool // breakpoints do not count
	skip        bool // nothing pauses
	onException string
	blackbox    blackbox
	profiling   bool
	request     string // why to pause at the next probe
	step        step
	resumed     chan struct{} // not nil while paused
	paused      map[string]any

	// What follows belongs to whoever owns the engine.
	mirrors mirrors
	calls   calls
	thrown  engine.Value
	halt    halt
	restart *entry // the call that is restarted when the pause ends
	// guarding counts the evaluations of debuggers that run.
	guarding int
	profile  *profile // nil if none is made
	interval time.Duration
	coverage map[*probe]int // calls of functions by their first statements; nil if they are not counted
	promises promises
}

// A visit is a call of the plugin, whose time does not count while a debugger holds it.
type visit struct {
	hold    func() func()
	release func()
}

// Add makes a plugin one that can be debugged, and says where.
func (s *Server) Add(p Plugin) *Target {
	t := &Target{
		server: s, id: newID(), plugin: p, engine: p.Engine, loading: p.Loads, done: make(chan struct{}), ended: make(chan struct{}),
		sessions: sessions{}, gate: make(chan struct{}), visits: map[*visit]struct{}{},
		breakpoints: map[string]*breakpoint{}, onException: "none", thrown: engine.Undefined, interval: defaultInterval,
		tasks: tasks{poke: make(chan struct{}, 1), wake: make(chan struct{}, 1)},
	}
	t.scripts.mu = &t.mu
	t.mirrors = mirrors{engine: p.Engine, scripts: &t.scripts, helpers: map[string]engine.Value{}, objects: map[int]*object{}}
	t.calls.engine, t.calls.active, t.calls.entries = p.Engine, &t.active, map[uintptr]*entry{}
	t.promises.engine = p.Engine
	t.halt.engine, t.halt.mirrors = p.Engine, &t.mirrors
	if p.Free {
		t.open = true
		close(t.gate)
	}
	s.mu.Lock()
	s.targets = append(s.targets, t)
	s.mu.Unlock()
	go t.serveTasks()
	log := s.opts.Log.With(slog.String("plugin", p.Title), slog.String("address", t.Address()), slog.String("link", t.Link()))
	if p.Free {
		log.Info("debuggers can attach to a plugin")
	} else {
		log.Info("a plugin waits for a debugger")
	}
	return t
}

// Address is where debuggers attach.
func (t *Target) Address() string { return "ws://" + t.server.addr + "/" + t.id }

// Link opens the tools of Chrome.
func (t *Target) Link() string { return devtools(t.server.addr, t.id) }

// devtools is the link that opens the tools of Chrome for a target.
func devtools(host, id string) string {
	return "devtools://devtools/bundled/js_app.html?ws=" + host + "/" + id
}

func (t *Target) info(host string) map[string]string {
	t.mu.Lock()
	defer t.mu.Unlock()
	url := ""
	if len(t.scripts.list) > 0 {
		url = t.scripts.list[0].url
	}
	return map[string]string{
		"id": t.id, "type": "node", "title": t.plugin.Title, "description": "a JavaScript plugin", "url": url,
		"webSocketDebuggerUrl": "ws://" + host + "/" + t.id, "devtoolsFrontendUrl": devtools(host, t.id),
	}
}

// Close ends all sessions and frees what the target holds of the engine, which the caller owns.
func (t *Target) Close() {
	t.server.mu.Lock()
	t.server.targets = slices.DeleteFunc(t.server.targets, func(x *Target) bool { return x == t })
	t.server.mu.Unlock()
	t.disconnect()
	t.once.Do(func() { close(t.done) })
	if t.engine.Err() == nil {
		t.Turn()
		for f := range t.calls.entries {
			t.calls.forget(f)
		}
		t.mirrors.releaseObjects(func(*object) bool { return true })
		t.promises.forget(nil)
		for _, v := range t.mirrors.helpers {
			t.engine.Free(v)
		}
	}
	t.tasks.closed = true
}

// Ended is closed when nothing of a closed target runs any more.
func (t *Target) Ended() <-chan struct{} { return t.ended }

func (t *Target) disconnect() {
	t.mu.Lock()
	list := make([]*session, 0, len(t.sessions))
	for s := range t.sessions {
		list = append(list, s)
	}
	t.mu.Unlock()
	for _, s := range list {
		s.cancel()
	}
}

// Call tells that a function of the plugin is to be called, and waits until a debugger lets it run. The hold of its
// clock is called when the debugger holds it, which can happen until leave is called; hold may be nil.
func (t *Target) Call(ctx context.Context, hold func() func()) (leave func(), err error) {
	return t.admit(ctx, hold, nil, nil)
}

// Load is Call for the code that runs while the plugin is loaded, all of which counts as one call. The caller owns the
// engine: meanwhile it serves what debuggers ask for.
func (t *Target) Load(ctx context.Context, hold func() func(), serve func()) (leave func(), err error) {
	return t.admit(ctx, hold, t.tasks.poke, serve)
}

// Tasks tells who owns the engine and waits for something that there may be tasks for it.
func (t *Target) Tasks() <-chan struct{} { return t.tasks.poke }

// Serve does what debuggers ask for. The caller owns the engine.
func (t *Target) Serve() { t.tasks.drain() }

func (t *Target) admit(ctx context.Context, hold func() func(), tasks <-chan struct{}, serve func()) (leave func(), err error) {
	v := &visit{hold: hold}
	t.mu.Lock()
	t.visits[v] = struct{}{}
	t.loading = false
	if t.resumed != nil {
		v.stop()
	}
	leave = func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		delete(t.visits, v)
		v.start()
	}
	if t.open {
		t.mu.Unlock()
		return leave, nil
	}
	v.stop()
	t.waiting++
	gate := t.gate
	t.mu.Unlock()
	for waiting := true; waiting; {
		waiting = false
		select {
		case <-tasks:
			serve()
			waiting = true
		case <-gate:
		case <-ctx.Done():
			err = ctx.Err()
		case <-t.done:
			err = errClosed
		case <-t.plugin.Closing:
			err = errClosed
		}
	}
	t.mu.Lock()
	t.waiting--
	if t.resumed == nil {
		v.start()
	}
	if t.retired && err == nil {
		err = ErrRetired
	}
	t.mu.Unlock()
	if err != nil {
		leave()
	}
	return leave, err
}

var errClosed = errors.New("the plugin is closed")

// ErrRetired is the error of a call that had waited when the plugin was retired.
var ErrRetired = errors.New("the plugin goes away")

// Retire lets everything run that waits or is paused, from now on, because the plugin goes away.
func (t *Target) Retire() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.retired = true
	t.refresh()
	t.goOn()
	if !t.open {
		t.open = true
		close(t.gate)
	}
}

// stop and start the clock; both are called with the lock of the target.
func (v *visit) stop() {
	if v.hold != nil && v.release == nil {
		v.release = v.hold()
	}
}

func (v *visit) start() {
	if v.release != nil {
		v.release()
		v.release = nil
	}
}

// letRun opens the gate for calls. Those that have waited stop at their first statement, so that whoever has attached
// sees where they are.
func (t *Target) letRun() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.open {
		return
	}
	t.open = true
	if (t.waiting > 0 || t.loading) && t.active.Load() {
		t.request = "Break on start"
	}
	close(t.gate)
}

func (t *Target) join(s *session) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.sessions[s] = struct{}{}
}

// leave forgets a session and what it has set. When it was the last one, the plugin goes on and later calls wait for
// the next.
func (t *Target) leave(s *session) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.sessions, s)
	for id, b := range t.breakpoints {
		if b.session == s {
			delete(t.breakpoints, id)
		}
	}
	t.refresh()
	t.tasks.add(func() { t.promises.forget(s) })
	if len(t.sessions) > 0 {
		return
	}
	if t.open && !t.retired && !t.plugin.Free {
		t.open, t.gate = false, make(chan struct{})
	}
	t.reset()
	t.goOn()
	t.profiling = false
	t.refresh()
	t.tasks.add(func() {
		t.profile, t.coverage = nil, nil
		t.mirrors.releaseObjects(func(*object) bool { return true })
	})
}

// reset forgets what debuggers have set but for breakpoints; it is called with the lock of the target.
func (t *Target) reset() {
	t.onException, t.inactive, t.skip, t.request, t.step = "none", false, false, "", step{}
	t.blackbox = nil
	t.calls.asyncDepth.Store(0)
}

// refresh finds out whether somebody wants to stop the plugin.
func (t *Target) refresh() {
	active := t.profiling && !t.retired
	t.active.Store(active || t.sessions.wants(debuggerDomain) && !t.retired)
}

// broadcast sends an event to the sessions that have enabled a domain.
func (t *Target) broadcast(d domain, method string, params any) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.sessions.send(d, method, params)
}

// sessions are the debuggers that are attached. The lock of the target guards them.
type sessions map[*session]struct{}

// send sends an event to those that have enabled a domain.
func (l sessions) send(d domain, method string, params any) {
	for s := range l {
		if s.domains&d != 0 {
			s.event(method, params)
		}
	}
}

// wants reports whether one has enabled a domain.
func (l sessions) wants(d domain) bool {
	for s := range l {
		if s.domains&d != 0 {
			return true
		}
	}
	return false
}

func (t *Target) serveTasks() {
	defer close(t.ended)
	for {
		select {
		case <-t.tasks.wake:
			if t.tasks.pending.Load() {
				t.plugin.Own(t.tasks.drain)
			}
		case <-t.done:
			return
		}
	}
}

func utf16Len(s string) (n int) {
	for _, r := range s {
		n += utf16.RuneLen(r)
	}
	return n
}

func (s *script) hash() string {
	sum := sha256.Sum256([]byte(s.source))
	return hex.EncodeToString(sum[:])
}

// Waiting is how many calls wait for a debugger.
func (t *Target) Waiting() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.waiting
}
