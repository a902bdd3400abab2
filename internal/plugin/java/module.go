// SPDX-License-Identifier: Apache-2.0

package java

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"example.org/app/internal/plugin"
)

// A module is a loaded plugin. It outlives the JVM: each new one loads it from the copy of its jar.
type module struct {
	host *Host
	// slot is the slot of its JVM.
	slot       atomic.Pointer[slot]
	descriptor descriptor
	// name is that of the operator's file, copy the path of the file that JVMs read.
	name, copy string
	extensions []*extension
	warnings   []string
	log        *slog.Logger
	lines      *plugin.Lines
	// Failures records exceptions that end threads.
	plugin.Failures
	// binding is the plugin's place in a JVM. benched is the reason why it has none and is not
	// restored automatically.
	binding atomic.Pointer[binding]
	benched atomic.Pointer[benched]
	// leaving is the error of calls after the plugin has called System.exit.
	leaving atomic.Pointer[error]
	retired chan struct{}
	retire  sync.Once
	// loaded is true after the first load.
	loaded atomic.Bool
	// cpu is the plugin's processor time in nanoseconds, and allocated its allocations in bytes.
	cpu, allocated atomic.Int64
	// left describes the threads that continue after it was unloaded.
	left atomic.Pointer[string]
	// runaways are the times of its runaway work; the mutex of the host guards it.
	runaways []time.Time

	// mu serialises loading and closing.
	mu     sync.Mutex
	closed bool

	// moved is closed, and replaced, whenever binding or benched change.
	movedMu sync.Mutex
	moved   chan struct{}
}

type benched struct{ why error }

// A binding is the place of a module in a JVM.
type binding struct {
	*session
	number uint64
	// extensions are the numbers of the extensions, in their order.
	extensions []uint64
	// hooks is held for reading by running hooks.
	hooks sync.RWMutex
}

// errClosed reports that the module was closed.
var errClosed = errors.New("the plugin is closed")

// newModule validates a jar and reads its descriptor.
func newModule(h *Host, src plugin.Source) (*module, error) {
	a, err := openArchive(src.Data)
	if err != nil {
		return nil, err
	}
	name, text, err := a.descriptor()
	if err != nil {
		return nil, err
	}
	m := &module{host: h, name: src.Name, lines: plugin.NewLines(h.opts.LogLines), retired: make(chan struct{}), moved: make(chan struct{})}
	if m.descriptor, err = parseDescriptor(name, text); err != nil {
		return nil, err
	}
	m.log = h.opts.Log.With(slog.String("plugin", m.descriptor.ID), slog.String("version", m.descriptor.Version))
	return m, nil
}

// load loads the plugin for the first time.
func (m *module) load(ctx context.Context, data []byte) (err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for again := false; ; {
		s, err := m.slot.Load().session(ctx, true)
		if err != nil {
			return err
		}
		if m.copy == "" {
			if m.copy, err = m.host.keep(data); err != nil {
				return err
			}
		}
		s.loads.Add(1)
		defer s.loads.Add(-1)
		b, err := m.bind(ctx, s)
		if errors.Is(err, errUnsent) {
			if err = s.wait(ctx); err == nil {
				continue
			}
		} else if errors.Is(err, errEnded) && !again && s.endedByOther(ctx, m) {
			again = true
			continue
		}
		if err != nil {
			os.Remove(m.copy)
			return s.describeLoss(ctx, err)
		}
		m.loaded.Store(true)
		m.place(b, nil)
		return nil
	}
}

// place sets the module's binding; nil means none, and why is the reason if the module is not
// restored automatically.
func (m *module) place(b *binding, why *benched) {
	m.movedMu.Lock()
	defer m.movedMu.Unlock()
	m.benched.Store(why)
	m.binding.Store(b)
	close(m.moved)
	m.moved = make(chan struct{})
}

// settle sets the binding of a restored module, unless it was benched meanwhile.
func (m *module) settle(b *binding) {
	m.movedMu.Lock()
	defer m.movedMu.Unlock()
	if m.benched.Load() != nil {
		return
	}
	m.binding.Store(b)
	close(m.moved)
	m.moved = make(chan struct{})
}

// move returns a channel that is closed at the next change of binding or benched.
func (m *module) move() <-chan struct{} {
	m.movedMu.Lock()
	defer m.movedMu.Unlock()
	return m.moved
}

// wait waits until the session has ended.
func (s *session) wait(ctx context.Context) error {
	select {
	case <-s.over:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// bind loads the plugin into a JVM. The caller must hold m.mu.
func (m *module) bind(ctx context.Context, s *session) (*binding, error) {
	a, err := s.requestWith(ctx, kindLoad, m, func(b []byte) ([]byte, error) {
		d := m.descriptor
		b = appendString(appendString(appendString(appendString(b, d.ID), d.Version), d.class), m.copy)
		return appendString(appendBool(b, m.host.opts.Strict), m.name), nil
	}, handling{late: func(wait func() answer) {
		done := s.loadingLate(m)
		m.host.late.Go(func() {
			a := wait()
			done()
			m.loadedLate(s, a)
		})
	}})
	if err != nil {
		return nil, err
	}
	defer a.free()
	r := &in{b: *a.body}
	b := &binding{session: s, number: r.uint()}
	var extensions []*extension
	for range r.count() {
		x := &extension{module: m, index: len(extensions), methods: make(map[*plugin.Method]*plan), state: plugin.Loaded}
		b.extensions = append(b.extensions, r.uint())
		x.class = r.string()
		points := r.strings()
		n := r.count()
		indexes := make([]uint64, 0, n)
		for range n {
			indexes = append(indexes, r.uint())
		}
		if endpoints := r.view(); r.err == nil {
			if err := x.describe(points, indexes, endpoints); err != nil {
				return nil, err
			}
		}
		extensions = append(extensions, x)
	}
	warnings := r.strings()
	if err := r.end(); err != nil {
		return nil, fmt.Errorf("load the plugin: %w", err)
	}
	if m.extensions == nil {
		m.extensions, m.warnings = extensions, warnings
	} else if !slices.EqualFunc(m.extensions, extensions, func(a, b *extension) bool { return a.class == b.class }) {
		return nil, errors.New("the plugin has other extensions than when it was loaded first")
	}
	s.add(b.number, m)
	return b, nil
}

// loadedLate unloads a plugin whose load was abandoned.
func (m *module) loadedLate(s *session, a answer) {
	if a.err != nil || a.kind != kindResult {
		a.free()
		return
	}
	r := &in{b: *a.body}
	b := &binding{session: s, number: r.uint()}
	a.free()
	m.unload(context.Background(), b)
}

// isLoading reports whether the plugin is being loaded for the first time.
func (m *module) isLoading() bool { return m.retired != nil && !m.loaded.Load() }

// bench takes the module out of service until it is revived.
func (m *module) bench(why error) {
	m.place(nil, &benched{why})
	for _, x := range m.extensions {
		x.fail(why)
	}
}

// comeBack loads the plugin into a new JVM and restores the states of its extensions. Calls
// wait for it; Close cancels it.
func (m *module) comeBack(s *session) {
	if b := m.binding.Load(); b != nil && b.session.ctx.Err() == nil {
		m.moveTo(s) // Its JVM is still running.
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	old := m.binding.Load()
	if m.closed || m.benched.Load() != nil || old != nil && old.session == s {
		return
	}
	if old != nil {
		old.hooks.Lock()   // Running hooks have failed and recorded the states of their extensions.
		old.hooks.Unlock() //nolint:staticcheck // It is the waiting that counts.
	}
	wanted, leave := m.wanted(s)
	defer leave()
	b, err := m.enter(wanted, s)
	if err != nil {
		if wanted.Err() == nil {
			why := fmt.Errorf("the plugin could not be loaded again after the Java host died: %w", err)
			m.bench(why)
			m.host.opts.Broken(m, "", why.Error(), true)
		}
		return
	}
	var wg sync.WaitGroup
	for _, x := range m.extensions {
		wg.Go(func() {
			if err := x.comeBack(wanted, b); err != nil && s.ctx.Err() == nil {
				why := fmt.Errorf("the extension could not be started again after the Java host died: %w", err)
				if wanted.Err() == nil {
					m.lost(x, why)
				} else {
					x.fail(why)
				}
			}
		})
	}
	wg.Wait()
	m.settle(b)
}

// wanted returns a context that ends with a session, and when the module is retired.
func (m *module) wanted(s *session) (context.Context, context.CancelFunc) {
	ctx, leave := context.WithCancel(s.ctx)
	m.host.work.Go(func() {
		select {
		case <-m.retired:
			leave()
		case <-ctx.Done():
		}
	})
	return ctx, leave
}

// enter loads the plugin into a session with the time limit of hooks. The caller must hold
// m.mu.
func (m *module) enter(wanted context.Context, s *session) (*binding, error) {
	ctx, cancel := m.host.limit(wanted)
	defer cancel()
	return m.bind(ctx, s)
}

// lost fails calls of an extension that could not be restored, and reports it to the server.
func (m *module) lost(x *extension, why error) {
	x.fail(why)
	m.host.opts.Broken(m, x.class, why.Error(), true)
}

// limit returns a context for work without a caller's time limit: it ends with the parent, with the
// host, and after the time limit of hooks, unless debugging is enabled.
func (h *Host) limit(parent context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(parent)
	stop := context.AfterFunc(h.ctx, cancel)
	end := cancel
	if h.opts.Debug.Port == 0 {
		ctx, end = context.WithTimeout(ctx, h.opts.HookTimeout())
	}
	return ctx, func() { stop(); end(); cancel() }
}

// revive reloads the plugin if it was benched.
func (m *module) revive(ctx context.Context) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed {
		return errClosed
	}
	if m.benched.Load() == nil {
		return nil
	}
	s, err := m.slot.Load().session(ctx, true)
	if err != nil {
		return err
	}
	if b := m.binding.Load(); b != nil && b.session == s {
		return nil // The restart has restored it.
	}
	b, err := m.bind(ctx, s)
	if err != nil {
		return s.describeLoss(ctx, err)
	}
	m.place(b, nil)
	return nil
}

// bound returns the binding, or the reason why there is none.
func (m *module) bound() (*binding, error) {
	if b := m.binding.Load(); b != nil {
		return b, nil
	}
	if b := m.benched.Load(); b != nil {
		return nil, b.why
	}
	return nil, errClosed
}

// Descriptor returns the descriptor of the plugin.
func (m *module) Descriptor() plugin.Descriptor { return m.descriptor.Descriptor }

// Extensions returns the extensions in the plugin's order.
func (m *module) Extensions() []plugin.Extension {
	list := make([]plugin.Extension, len(m.extensions))
	for i, x := range m.extensions {
		list[i] = x
	}
	return list
}

// Warnings returns problems that did not prevent loading, for the plugin's author.
func (m *module) Warnings() []string { return m.warnings }

// Memory returns the used heap of a JVM in which the plugin is alone; otherwise 0, as it is
// unknown. If the use exceeds the plugin's limit, garbage is excluded.
func (m *module) Memory() int64 {
	s := m.host.alone(m)
	if s == nil {
		return 0
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.held
}

// CPU returns the plugin's processor time in all its JVMs. In a shared one it is an estimate, see
// Usage.java.
func (m *module) CPU() time.Duration { return time.Duration(m.cpu.Load()) }

// Allocated returns the bytes that the plugin allocated in all its JVMs.
func (m *module) Allocated() int64 { return m.allocated.Load() }

// maxNamed is the maximum number of remaining threads that Left names.
const maxNamed = 10

// Left describes the threads that continue after the plugin was unloaded; "" means none.
func (m *module) Left() string {
	if left := m.left.Load(); left != nil {
		return *left
	}
	return ""
}

// Retire restarts the clocks that a debugger's pause stopped, and cancels a restoration.
func (m *module) Retire() { m.retire.Do(func() { close(m.retired) }) }

// Close unloads the plugin.
func (m *module) Close(ctx context.Context) error {
	m.Retire()
	m.mu.Lock()
	if m.closed {
		m.mu.Unlock()
		return nil
	}
	m.closed = true
	b := m.binding.Load()
	m.place(nil, nil)
	m.mu.Unlock()
	slot := m.host.forget(m)
	if b != nil {
		m.unload(ctx, b)
	}
	slot.rest(ctx)
	if err := os.Remove(m.copy); err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("remove the copy of a plugin: %w", err)
	}
	return nil
}

// unload unloads the plugin from a JVM. It leaves an unresponsive JVM to watch.
func (m *module) unload(ctx context.Context, b *binding) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*endTime)
	defer cancel()
	b.noteRemnant(b.number, m.descriptor.ID)
	a, err := b.request(ctx, kindUnload, nil, func(body []byte) ([]byte, error) {
		return appendUint(body, b.number), nil
	})
	b.remove(b.number)
	if err != nil {
		if b.session.ctx.Err() == nil {
			m.log.Warn("a plugin could not be unloaded", slog.Any("error", err))
		}
		return
	}
	defer a.free()
	r := &in{b: *a.body}
	if threads := r.strings(); len(threads) > 0 {
		m.left.Store(new("threads still run after the plugin was unloaded: " + strings.Join(threads[:min(len(threads), maxNamed)], ", ")))
		m.log.Warn("threads of a plugin still run after it was unloaded, and keep its classes in memory", slog.Any("threads", threads))
	} else {
		b.noteRemnant(b.number, "")
	}
}

var (
	_ plugin.Module     = (*module)(nil)
	_ plugin.Measured   = (*module)(nil)
	_ plugin.Leftover   = (*module)(nil)
	_ plugin.Retirer    = (*module)(nil)
	_ plugin.Unattended = (*module)(nil)
)
