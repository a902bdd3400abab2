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

// A session is the life of one JVM.
type session struct {
	host *Host
	// slot is whose JVM it is; nil for the spare.
	slot atomic.Pointer[slot]
	*process
	conn *conn
	// java is what the JVM says of itself.
	java string
	// ctx ends with the session; helpers are the goroutines that serve plugins and die with it.
	ctx     context.Context
	cancel  context.CancelCauseFunc
	helpers sync.WaitGroup
	asks    atomic.Int64
	// loads is how many plugins are being loaded for the first time.
	loads atomic.Int64
	lines chan line
	// lost counts lines that were dropped because the log could not follow.
	lost atomic.Int64
	// probed is when the JVM was asked for its state, in nanoseconds since 1970; 0 if it has answered.
	probed atomic.Int64
	// level is how many levels the JVM was told that the log takes, if it was told.
	levelMu sync.Mutex
	level   int
	told    bool
	// silenced says that the server ended the JVM because it did not answer.
	silenced atomic.Bool
	// stopping says that the server ends the session; exit is the plugin that did, by System.exit.
	stopping atomic.Bool
	exit     atomic.Pointer[exit]
	// culprit is the plugin that is known to have ended the JVM in another way.
	culprit atomic.Pointer[culprit]
	// over is closed when everything has ended; why is set then.
	over chan struct{}
	why  error
	// blamed are the modules that it worked for when it ended; gone, which the host guards, says that it did.
	blamed []*module
	gone   bool
	// recording is what the JVM records, which recordMu of the host guards; taken counts its files.
	recording *recordingSettings
	taken     int

	mu sync.Mutex
	// modules are those that were loaded in this session, by their numbers; removed are the numbers of those that are no more.
	modules map[uint64]*module
	removed map[uint64]bool
	stats   Stats
	// held is how much of the heap was in use when that was last known to be no more than a plugin may hold, or not garbage.
	held   int64
	ledger ledger
	// late are the modules that are being loaded although nobody waits for them any more.
	late []*module
}

// exit is a System.exit.
type exit struct {
	status int
	// module is nil if it is not known which plugin did it.
	module *module
}

// culprit is a plugin that ends the JVM.
type culprit struct {
	module *module
	how    string
}

var (
	// errEnded is in the chain of the errors of calls that were on their way when the JVM ended.
	errEnded error = &lostError{"the call was lost"}
	// errAway is in the chain of the errors of calls that waited in vain for the next JVM.
	errAway error = &lostError{"wait for the Java host"}
)

type lostError struct{ text string }

func (e *lostError) Error() string { return e.text }

// Is implements what errors.Is asks for.
func (e *lostError) Is(target error) bool { return target == plugin.ErrInterrupted }

// openSession starts a JVM for a slot, or for none if that is nil, and greets it.
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
			err = s.why // It says why the JVM did not come up.
		}
		return nil, err
	}
	return s, nil
}

// run reads until the JVM ends, and then ends everything else.
func (s *session) run() {
	err := s.conn.run()
	s.cancel(err)
	s.blamed = s.suspects()
	// Calls fail at once; why in detail is known a moment later.
	s.conn.end(fmt.Errorf("%w: the Java host ended", errEnded))
	// A JVM that closed its pipes does nothing useful any more.
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
	if number, holds, ok := s.hoarder(); ok {
		// It is not always the plugin that held the memory which was the first to need more.
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

// endTime is how long a JVM may take to end.
const endTime = 5 * time.Second

// greet says hello and checks who answers.
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

// startTime is how long a JVM may take to say hello.
const startTime = time.Minute

// request sends a request, whose body is appended by write, and waits for the answer. An answer that is an error is one.
// Nothing is sent if nobody wants the answer any more: a plugin must not do what its caller has given up.
func (s *session) request(ctx context.Context, k kind, m *module, write func(b []byte) ([]byte, error)) (answer, error) {
	return s.requestWith(ctx, k, m, write, handling{})
}

// handling is what else is done for a request. All of it may be nil.
type handling struct {
	// output takes the answer of an endpoint, which the JVM sends in parts.
	output plugin.EndpointOutput
	// late gets an answer that must not be lost: see awaitLate.
	late func(wait func() answer)
	// givenUp is called when the context has ended, before the JVM is told so and interrupts the thread.
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

// readError reads what a plugin threw.
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

// module finds a module of the session.
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

// noteRemnant notes the id of a plugin that is unloaded and whose threads may go on; "" forgets it.
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

// handle takes a frame that the JVM sent by itself.
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

// suspects are the modules that may have ended the JVM: those that were being loaded, as it did without them until then, or else
// those that it worked for. Plugins that nobody waits for any more may have been there for long, and come last.
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

// suspects are the modules that the JVM works for.
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

// stop ends the JVM in an orderly way.
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

// dump logs what all threads of the JVM do.
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

// asked answers a question of a plugin, in a goroutine of its own.
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

// reply sends an answer.
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
	_ = s.conn.send(b, nil) // A JVM that is gone wants no answer.
}
