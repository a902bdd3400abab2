// SPDX-License-Identifier: Apache-2.0

package java

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"example.org/app/internal/apierr"
	"example.org/app/internal/plugin"
	"example.org/app/internal/plugin/javasdk"
)

// A session is one run of a JVM.
type session struct {
	host *Host
	// slot is its slot; nil for the spare.
	slot atomic.Pointer[slot]
	*process
	conn *conn
	// java is the version and the vendor of the JVM.
	java string
	// ctx ends with the connection; helpers are the goroutines of the session.
	ctx     context.Context
	cancel  context.CancelCauseFunc
	helpers sync.WaitGroup
	asks    atomic.Int64
	// loads is the number of plugins that are being loaded for the first time.
	loads atomic.Int64
	lines chan line
	// lost counts lines that were dropped because the log was too slow.
	lost atomic.Int64
	// probed is when the pending state request was sent, in nanoseconds since 1970; 0 if there is
	// none.
	probed atomic.Int64
	// level is the log level last sent to the JVM; told is true once one was sent. levelMu guards
	// both.
	levelMu sync.Mutex
	level   int
	told    bool
	// silenced is true if the server killed the JVM because it did not respond.
	silenced atomic.Bool
	// stopping is true if the server ends the session; exit is the plugin that called System.exit.
	stopping atomic.Bool
	exit     atomic.Pointer[exit]
	// culprit is the plugin known to have ended the JVM in another way.
	culprit atomic.Pointer[culprit]
	// over is closed when the session has ended; why is set then.
	over chan struct{}
	why  error
	// blamed are the modules with pending requests at its end; gone, which the host guards, is true
	// once it ended.
	blamed []*module
	gone   bool
	// recording are the recording settings of the JVM, guarded by recordMu of the host; taken
	// counts its files.
	recording *recordingSettings
	taken     int

	mu sync.Mutex
	// modules are the modules loaded in this session by number; removed are the numbers of unloaded
	// ones.
	modules map[uint64]*module
	removed map[uint64]bool
	stats   Stats
	// held is the used heap when it was last known to be within a plugin's limit, or without
	// garbage.
	held   int64
	ledger ledger
	// late are the modules whose load was abandoned and still runs.
	late []*module
}

// exit is a call of System.exit.
type exit struct {
	status int
	// module is nil if the plugin is unknown.
	module *module
}

// culprit is a plugin that ends the JVM.
type culprit struct {
	module *module
	how    string
}

var (
	// errEnded is wrapped by the errors of calls that were pending when the JVM ended.
	errEnded error = &lostError{"the call was lost"}
	// errAway is wrapped by the errors of calls for which no new JVM became available.
	errAway error = &lostError{"wait for the Java host"}
)

type lostError struct{ text string }

func (e *lostError) Error() string { return e.text }

// Is makes the errors match plugin.ErrInterrupted.
func (e *lostError) Is(target error) bool { return target == plugin.ErrInterrupted }

// openSession starts a JVM, for a slot or nil, and performs the handshake.
func (h *Host) openSession(ctx context.Context, l *slot, how launch) (_ *session, err error) {
	p, err := h.startProcess(how)
	if err != nil {
		return nil, err
	}
	c, err := newConn(p.r, p.w, h.opts.MaxPending)
	if err != nil {
		p.kill()
		p.r.Close()
		p.w.Close()
		return nil, fmt.Errorf("start the Java host: %w", err)
	}
	s := &session{host: h, process: p, conn: c, modules: make(map[uint64]*module), lines: make(chan line, maxLines), over: make(chan struct{})}
	s.slot.Store(l)
	s.ctx, s.cancel = context.WithCancelCause(context.Background())
	c.handle = s.handle
	s.helpers.Go(s.writeLog)
	if !how.unwatched {
		s.helpers.Go(s.watch)
	}
	go s.run()
	if err := s.greet(ctx); err != nil {
		s.stopping.Store(true)
		s.kill()
		<-s.over
		if errors.Is(err, errEnded) || errors.Is(err, errUnsent) {
			err = s.why // It says why the JVM did not start.
		}
		return nil, err
	}
	return s, nil
}

// run reads frames until the JVM ends, and then ends the session.
func (s *session) run() {
	err := s.conn.run()
	s.cancel(err)
	s.blamed = s.suspects()
	// Calls fail at once; the detailed cause is known a moment later.
	s.conn.end(fmt.Errorf("%w: the Java host ended", errEnded))
	// A JVM with closed pipes is useless.
	ctx, cancel := context.WithTimeout(context.Background(), endTime)
	s.end(ctx)
	cancel()
	close(s.lines)
	s.helpers.Wait()
	s.why = s.process.err
	if e := s.exit.Load(); e != nil && e.module != nil {
		s.blamed = []*module{e.module}
	}
	if m := s.crasher(); m != nil {
		s.culprit.CompareAndSwap(nil, &culprit{m, "a crash in its code"})
	}
	if number, holds, ok := s.largestHolder(); ok {
		// The plugin that filled the memory is not always the first whose allocation fails.
		s.culprit.Store(&culprit{s.module(number), "an OutOfMemoryError"})
		s.why = fmt.Errorf("%w, as one plugin holds %s of its memory", s.why, holds)
	}
	if c := s.culprit.Load(); c != nil && c.module == nil {
		s.blamed = nil
		s.why = fmt.Errorf("%w, because of %s in a plugin that was removed", s.why, c.how)
	} else if c != nil {
		s.blamed = []*module{c.module}
		s.why = fmt.Errorf("%w, because of %s in plugin %q", s.why, c.how, c.module.descriptor.ID)
	}
	if !s.stopping.Load() {
		s.host.died(s)
	}
	close(s.over)
}

// endTime is the time limit for a JVM to exit.
const endTime = 5 * time.Second

// greet performs the handshake.
func (s *session) greet(ctx context.Context) error {
	if !s.host.opts.Debug.Suspend || s.host.opts.Debug.Port == 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, startTime)
		defer cancel()
	}
	node := plugin.Node{}
	if s.host.opts.Server != nil {
		node = s.host.opts.Server.Node("")
	}
	a, err := s.request(ctx, kindHello, nil, func(b []byte) ([]byte, error) {
		b = binary.BigEndian.AppendUint32(b, protocol)
		b = appendString(b, javasdk.Fingerprint())
		b = appendString(appendString(appendString(b, node.ID), string(node.Role)), node.Version)
		return appendBool(appendCount(b, s.host.opts.MaxPending), s.host.severalNodes()), nil
	})
	if err != nil {
		return fmt.Errorf("greet the Java host: %w", err)
	}
	defer a.free()
	r := &in{b: *a.body}
	version, vendor, _, fingerprint := r.string(), r.string(), r.uint(), r.string()
	if err := r.end(); err != nil {
		return fmt.Errorf("greet the Java host: %w", err)
	}
	if fingerprint != javasdk.Fingerprint() {
		return errors.New("the Java host in this program was built from other extension points than the program: build both with make build")
	}
	s.java = version + " (" + vendor + ")"
	s.tellLevel()
	return nil
}

// startTime is the time limit of the handshake.
const startTime = time.Minute

// request sends a request, whose body write appends, and waits for the response. An error response
// is returned as an error. Nothing is sent after the context has ended: a plugin must not act for a
// caller that has given up.
func (s *session) request(ctx context.Context, k kind, m *module, write func(b []byte) ([]byte, error)) (answer, error) {
	return s.requestWith(ctx, k, m, write, handling{})
}

// handling are the options of a request. All may be nil.
type handling struct {
	// output receives the response of an endpoint, which the JVM sends in parts.
	output plugin.EndpointOutput
	// late receives a response that must not be lost: see awaitLate.
	late func(wait func() answer)
	// givenUp is called when the context has ended, before the JVM is notified and interrupts the
	// thread.
	givenUp func()
}

func (s *session) requestWith(ctx context.Context, k kind, m *module, write func(b []byte) ([]byte, error), h handling) (a answer, err error) {
	if err := ctx.Err(); err != nil {
		return answer{}, err
	}
	wait := ctx
	if h.late != nil {
		wait = plugin.SameBehalf(context.Background(), ctx)
	}
	q, err := s.conn.begin(wait, m, h.output)
	if err != nil {
		return answer{}, err
	}
	frame := buffers.Get().(*[]byte)
	b := beginFrame((*frame)[:0], k, q.id)
	if write != nil {
		b, err = write(b)
	}
	if err == nil {
		b, err = endFrame(b, 0)
	}
	*frame = b
	if err != nil {
		s.conn.drop(q)
		keep(frame)
		return answer{}, err
	}
	if h.late == nil {
		a, err = s.conn.await(ctx, q, b, h.givenUp)
	} else {
		a, err = s.conn.awaitLate(ctx, q, b, h.late)
	}
	keep(frame)
	if err != nil {
		return answer{}, err
	}
	if a.kind == kindError {
		err := readError(*a.body)
		a.free()
		return answer{}, err
	}
	return a, nil
}

// readError decodes an exception of a plugin.
func readError(body []byte) error {
	r := &in{b: body}
	code, x := r.int(), &plugin.Exception{}
	x.Message, x.Location, x.Stack = r.string(), r.string(), r.string()
	if err := r.end(); err != nil {
		return err
	}
	if c := apierr.Code(code); code != 0 && c.Name() != "" {
		if x.Message == "" {
			x.Message = c.Text()
		}
		return &apierr.Error{Code: c, Reason: x.Message}
	}
	return x
}

// module returns the module with a number; nil if there is none.
func (s *session) module(number uint64) *module {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.modules[number]
}

func (s *session) add(number uint64, m *module) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.modules[number] = m
}

func (s *session) remove(number uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.modules, number)
	if s.removed == nil {
		s.removed = make(map[uint64]bool)
	}
	s.removed[number] = true
}

// noteRemnant records the id of an unloaded plugin whose threads may continue; "" removes it.
func (s *session) noteRemnant(number uint64, id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ledger.gone == nil {
		s.ledger.gone = make(map[uint64]string)
	}
	if id == "" {
		delete(s.ledger.gone, number)
	} else {
		s.ledger.gone[number] = id
	}
}

// handle handles a frame that is not a response.
func (s *session) handle(k kind, id uint64, body []byte) {
	r := &in{b: body}
	switch k {
	case kindLog:
		s.logged(r)
	case kindAsk:
		s.asked(id, slices.Clone(body))
	case kindFunction:
		s.host.objects.called(s, id, slices.Clone(body))
	case kindExit:
		e := &exit{status: int(r.int())}
		e.module = s.module(r.uint())
		if r.err == nil && s.exit.CompareAndSwap(nil, e) {
			s.host.leaving(s, e)
		}
	case kindCulprit:
		c := &culprit{s.module(r.uint()), r.string()}
		if r.err == nil && c.module != nil {
			s.culprit.CompareAndSwap(nil, c)
		}
	case kindUncaught:
		if m, err := s.module(r.uint()), r.string(); r.err == nil && m != nil {
			m.Note(errors.New(err))
		}
	default:
		s.log.Warn("the Java host sent something unknown", slog.Int("kind", int(k)))
	}
}

// suspects returns the modules that may have ended the JVM: those being loaded, because it ran
// without them until then, or else those with pending requests. Abandoned loads come last.
func (s *session) suspects() []*module {
	all := s.conn.suspects()
	s.mu.Lock()
	current := slices.DeleteFunc(slices.Clone(all), func(m *module) bool { return slices.Contains(s.late, m) })
	s.mu.Unlock()
	loading := slices.DeleteFunc(slices.Clone(current), func(m *module) bool { return !m.isLoading() })
	switch {
	case len(loading) > 0:
		return loading
	case len(current) > 0:
		return current
	}
	return all
}

// suspects returns the modules with pending requests.
func (c *conn) suspects() []*module {
	c.pendingMu.Lock()
	defer c.pendingMu.Unlock()
	found := make(map[*module]bool)
	for _, q := range c.pending {
		if q.module != nil {
			found[q.module] = true
		}
	}
	return slices.Collect(maps.Keys(found))
}

// stop shuts the JVM down gracefully, and kills it after endTime.
func (s *session) stop(ctx context.Context) {
	s.host.takeLast(ctx, s)
	s.stopping.Store(true)
	ctx, cancel := context.WithTimeout(ctx, endTime)
	defer cancel()
	if a, err := s.request(ctx, kindStop, nil, nil); err == nil {
		a.free()
	}
	s.end(ctx)
	<-s.over
}

// dump logs the stacks of all threads of the JVM.
func (s *session) dump(ctx context.Context, why string, attrs ...any) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), endTime)
	defer cancel()
	a, err := s.request(ctx, kindDump, nil, nil)
	if err != nil {
		return
	}
	defer a.free()
	r := &in{b: *a.body}
	s.log.Warn("threads of the Java host", append(attrs, slog.String("because", why), slog.String("threads", r.string()))...)
}

// asked handles a plugin's request in a new goroutine.
func (s *session) asked(id uint64, body []byte) {
	if s.asks.Add(1) > int64(s.host.opts.MaxPending) {
		s.asks.Add(-1)
		s.reply(id, nil, apierr.New(apierr.ServerUnavailable, "plugins ask too much of the server at once"))
		return
	}
	s.helpers.Go(func() {
		defer s.asks.Add(-1)
		defer func() {
			if value := recover(); value != nil {
				s.reply(id, nil, fmt.Errorf("the server panicked: %v", value))
				s.log.Error("the server panicked when a plugin asked something of it", slog.Any("value", value))
			}
		}()
		out, err := newQuestion(s, body).answer()
		s.reply(id, out, err)
	})
}

// reply sends a response.
func (s *session) reply(id uint64, body []byte, err error) {
	var b []byte
	if err == nil {
		b, err = endFrame(append(beginFrame(nil, kindResult, id), body...), 0)
	}
	if err != nil {
		code, text := int64(0), err.Error()
		if e, ok := errors.AsType[*apierr.Error](err); ok {
			code, text = int64(e.Code), e.Reason
		}
		b = appendString(appendInt(beginFrame(nil, kindError, id), code), head(text, 64<<10))
		b, _ = endFrame(appendString(appendString(b, ""), ""), 0)
	}
	_ = s.conn.send(b, nil) // A JVM that has ended needs no response.
}
