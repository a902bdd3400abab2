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

// A Plugin is the information of package js about a plugin.
type Plugin struct {
	// Title is the name that debuggers display.
	Title  string
	Engine *engine.Engine
	// Own runs f on the engine while it is not in use otherwise; if the plugin has ended, f is not
	// called.
	Own func(f func())
	// Resumed is called on the goroutine that owns the engine when a debugger resumes the plugin.
	Resumed func()
	// Closing is closed when the plugin must end.
	Closing <-chan struct{}
	// Free is true if nothing waits for a debugger.
	Free bool
	// Loads is true if Load will be called. A debugger that resumes the plugin earlier still
	// pauses it then.
	Loads bool
}

// A Target is a plugin that debuggers can attach to.
type Target struct {
	server *Server
	id     string
	plugin Plugin
	engine *engine.Engine
	done   chan struct{}
	ended  chan struct{}
	once   sync.Once
	tasks  tasks
	// active is true if probes have to check whether to pause.
	active atomic.Bool
	// terminated is true if the running code is to be terminated.
	terminated atomic.Bool

	mu       sync.Mutex
	sessions sessions
	// gate is closed while a debugger permits calls.
	gate    chan struct{}
	open    bool
	waiting int
	loading bool // Load has not been called yet.
	// retired is true if the plugin is being removed and must not be paused.
	retired bool
	visits  map[*visit]struct{}

	scripts     scripts
	breakpoints map[string]*breakpoint
	inactive    bool // breakpoints are disabled
	skip        bool // pauses are disabled
	onException string
	blackbox    blackbox
	profiling   bool
	request     string // reason to pause at the next probe
	step        step
	resumed     chan struct{} // not nil while paused
	paused      map[string]any

	// Only the owner of the engine uses the rest.
	mirrors mirrors
	calls   calls
	thrown  engine.Value
	halt    halt
	restart *entry // the call that is restarted when the pause ends
	// guarding counts the running evaluations of debuggers.
	guarding int
	profile  *profile // nil if none is running
	interval time.Duration
	coverage map[*probe]int // function calls by their first statement; nil if they are not counted
	promises promises
}

// A visit is a call of the plugin, whose clock is stopped while a debugger holds it.
type visit struct {
	hold    func() func()
	release func()
}

// Add creates a target for a plugin, and logs its address.
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

// Address returns the WebSocket address for debuggers.
func (t *Target) Address() string { return "ws://" + t.server.addr + "/" + t.id }

// Link returns the link that opens Chrome DevTools.
func (t *Target) Link() string { return devtools(t.server.addr, t.id) }

// devtools returns the link that opens Chrome DevTools for a target.
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

// Close ends all sessions and frees the target's values of the engine, which the caller owns.
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

// Ended returns a channel that is closed when no code of a closed target runs any more.
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

// Call announces a call of a function of the plugin, and waits until a debugger permits it. hold
// stops the call's clock; it is called when the debugger holds the call, which can happen until
// leave is called; it may be nil.
func (t *Target) Call(ctx context.Context, hold func() func()) (leave func(), err error) {
	return t.admit(ctx, hold, nil, nil)
}

// Load is like Call, for the code that runs while the plugin is being loaded, all of which
// counts as one call. The caller owns the engine, and executes the commands of debuggers
// meanwhile.
func (t *Target) Load(ctx context.Context, hold func() func(), serve func()) (leave func(), err error) {
	return t.admit(ctx, hold, t.tasks.poke, serve)
}

// Tasks signals the owner of an idle engine that there may be tasks for it.
func (t *Target) Tasks() <-chan struct{} { return t.tasks.poke }

// Serve executes the commands of debuggers. The caller owns the engine.
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

// ErrRetired is the error of a call that was waiting when the plugin was retired.
var ErrRetired = errors.New("the plugin goes away")

// Retire releases everything that waits or is paused, now and later, because the plugin is being
// removed.
func (t *Target) Retire() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.retired = true
	t.refresh()
	t.resume()
	if !t.open {
		t.open = true
		close(t.gate)
	}
}

// stop and start the clock; the caller holds the lock of the target.
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

// openGate opens the gate for calls. Those that have waited pause at their first statement, so that
// the debugger sees where they are.
func (t *Target) openGate() {
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

// leave removes a session and its settings. After the last one, the plugin resumes, and later
// calls wait for the next session.
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
	t.resume()
	t.profiling = false
	t.refresh()
	t.tasks.add(func() {
		t.profile, t.coverage = nil, nil
		t.mirrors.releaseObjects(func(*object) bool { return true })
	})
}

// reset resets the settings of debuggers except breakpoints; the caller holds the lock of the
// target.
func (t *Target) reset() {
	t.onException, t.inactive, t.skip, t.request, t.step = "none", false, false, "", step{}
	t.blackbox = nil
	t.calls.asyncDepth.Store(0)
}

// refresh updates active.
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

// sessions are the attached debuggers. The lock of the target guards them.
type sessions map[*session]struct{}

// send sends an event to the sessions that have enabled a domain.
func (l sessions) send(d domain, method string, params any) {
	for s := range l {
		if s.domains&d != 0 {
			s.event(method, params)
		}
	}
}

// wants reports whether a session has enabled a domain.
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

// Waiting returns the number of calls that wait for a debugger.
func (t *Target) Waiting() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.waiting
}
