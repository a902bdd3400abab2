// SPDX-License-Identifier: Apache-2.0

// Package engine wraps a QuickJS runtime with one context: values, functions, modules, jobs and
// limits, in the terms of the engine. It does not know plugins.
//
// An Engine consists of layers, each of which embeds the one below it: Values, Objects, Stack and
// Functions. Code that needs one layer takes only that one.
//
// An Engine belongs to one goroutine at a time; only Memory may be called from any goroutine. The
// caller owns returned values and must free each once; functions borrow their arguments unless
// their comment says that they consume them.
package engine

import (
	"errors"
	"fmt"
	"runtime"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"unsafe"

	"modernc.org/libc"
	lib "modernc.org/libquickjs"
)

// slotBytes is the size in a native stack that one slot of the engine's stack represents, so that a
// limit in bytes allows about the same depth as in the engine's native build.
const slotBytes = 210

// maxSlots keeps the deepest recursion well below the stack limit of the Go runtime.
const maxSlots = 20000

// Limits are the limits of a script's resources.
type Limits struct {
	// Memory is in bytes; 0 means unlimited.
	Memory int64
	// Stack is in bytes of a native stack; 0 is the engine's default of about one mebibyte.
	Stack int64
}

// An Engine is a runtime with one context.
type Engine struct {
	Functions

	// interrupt is polled while code runs; true ends the code with an exception that it cannot
	// catch. pace is called after it has returned false.
	interrupt   func() bool
	pace        func(over func() bool)
	interrupted bool
	running     bool

	resolve func(base, name string) (string, error)
	source  func(name string) (string, error)
	reject  func(promise, reason Value, handled bool)

	reactions *reactions // nil without OnReactions

	memory atomic.Int64
	broken error

	// guard keeps the engine's memory allocated while another goroutine accesses it; it guards
	// running, aborted and the closing of the engine.
	guard   sync.Mutex
	aborted bool
	arena   *arena

	// limit is the memory limit, and floor the memory in use when CollectIfLow last checked or
	// collected.
	limit, floor int64
}

// engines maps runtimes to engines, for callbacks.
var engines sync.Map

func find(rt uintptr) *Engine {
	e, _ := engines.Load(rt)
	return e.(*Engine)
}

func findContext(tls *libc.TLS, ctx uintptr) *Engine { return find(lib.XJS_GetRuntime(tls, ctx)) }

// New creates an engine.
func New(limits Limits) (*Engine, error) {
	tls := libc.NewTLS()
	a := newArena()
	rt := a.newRuntime(tls)
	if rt == 0 {
		tls.Close()
		a.close()
		return nil, errors.New("create a JavaScript runtime: out of memory")
	}
	ctx := lib.XJS_NewContext(tls, rt)
	if ctx == 0 {
		lib.XJS_FreeRuntime(tls, rt)
		tls.Close()
		a.close()
		return nil, errors.New("create a JavaScript context: out of memory")
	}
	e := &Engine{limit: limits.Memory, arena: a}
	e.tls, e.rt, e.ctx, e.handles = tls, rt, ctx, map[uintptr]any{}
	engines.Store(rt, e)
	if limits.Memory > 0 {
		lib.XJS_SetMemoryLimit(tls, rt, lib.Tsize_t(limits.Memory))
	}
	slots := int64(lib.MaxStackSlots)
	if limits.Stack > 0 {
		slots = min(max(limits.Stack/slotBytes, 512), maxSlots)
	}
	lib.XJS_SetMaxStackSize(tls, rt, lib.Tsize_t(slots))
	lib.XJS_SetCanBlock(tls, rt, 0)
	lib.XJS_SetInterruptHandler(tls, rt, address(interruptHandler), 0)
	lib.XJS_SetModuleLoaderFunc2(tls, rt, address(normalizeModule), address(loadModule), 0, 0)
	lib.XJS_SetHostPromiseRejectionTracker(tls, rt, address(trackRejection), 0)
	if err := e.newHandleClass(); err != nil {
		e.Close()
		return nil, err
	}
	e.publish()
	return e, nil
}

// Close frees everything and returns the number of objects that the owner failed to free. The
// pointers of a broken engine are unreliable, so its memory is freed as a whole.
func (e *Engine) Close() (left int) {
	e.guard.Lock()
	defer e.guard.Unlock()
	if e.tls == nil {
		return 0
	}
	tls := e.tls
	if e.broken == nil {
		e.dropJobs()
		lib.XJS_FreeContext(tls, e.ctx)
		lib.XJS_RunGC(tls, e.rt)
		left = e.objects()
		lib.XJS_FreeRuntime(tls, e.rt)
	}
	if e.scratch != 0 {
		libc.Xfree(tls, e.scratch)
	}
	engines.Delete(e.rt)
	tls.Close()
	e.arena.close()
	e.tls = nil
	e.memory.Store(0)
	return left
}

// objects returns the number of live objects.
func (e *Engine) objects() (n int) {
	rt := (*lib.TJSRuntime)(pointer(e.rt))
	head := uintptr(unsafe.Pointer(&rt.Fgc_obj_list))
	for link := rt.Fgc_obj_list.Fnext; link != head; link = (*lib.Tlist_head)(pointer(link)).Fnext {
		n++
	}
	return n
}

// Memory returns the memory of the engine in bytes at the end of the last run.
func (e *Engine) Memory() int64 { return e.memory.Load() }

func (e *Engine) publish() {
	rt := (*lib.TJSRuntime)(pointer(e.rt))
	e.memory.Store(int64(rt.Fmalloc_ctx.Fmalloc_state.Fmalloc_size))
}

// Err returns an error once the engine is broken and can only be closed.
func (e *Engine) Err() error { return e.broken }

// Collect frees objects that are only reachable from cycles.
func (e *Engine) Collect() {
	lib.XJS_RunGC(e.tls, e.rt)
	e.publish()
}

// CollectIfLow collects garbage if the memory is nearly used up. The engine itself collects only
// after growing by half, which can be beyond the limit: cycles of one run would use up the memory
// of the next. Memory that is in use does not cause a collection every time.
func (e *Engine) CollectIfLow() {
	size := e.Memory()
	if size >= e.limit/4*3 && size >= e.floor+(e.limit-e.floor)/2 && e.limit > 0 {
		e.Collect()
		e.floor = e.Memory()
	}
	e.floor = min(e.floor, size)
}

// Run runs f, which may run code of the engine, until it returns or interrupt returns true. A panic
// below f that unwound through the engine leaves its stack inconsistent: the engine is then broken,
// and Run returns the reason.
func (e *Engine) Run(interrupt func() bool, f func()) (err error) {
	if e.broken != nil {
		return e.broken
	}
	if e.running {
		f()
		return nil
	}
	e.guard.Lock()
	e.running, e.interrupt, e.interrupted = true, interrupt, false
	e.guard.Unlock()
	sp := e.tls.StackSlots()
	done := false
	defer func() {
		e.guard.Lock()
		defer e.guard.Unlock()
		e.running, e.interrupt = false, nil
		if done && !e.aborted && e.frame() == 0 && e.tls.StackSlots() == sp {
			e.publish()
			return
		}
		if e.aborted {
			_ = recover() // Caused by Abort.
			e.broken = ErrAborted
			err = e.broken
			return
		}
		e.broken = fmt.Errorf("the JavaScript engine failed: %v", recover())
		err = e.broken
	}()
	f()
	e.unpatch()
	e.leaving = Frame{}
	// Drop an exception that an interruption or lack of memory threw where nothing could handle it.
	// It would keep its references alive until the next exception.
	if (*lib.TJSRuntime)(pointer(e.rt)).Fcurrent_exception.Ftag != lib.EJS_TAG_UNINITIALIZED {
		e.Drop()
	}
	done = true
	return nil
}

// PollNow makes running code poll interrupt at the next opportunity instead of the regular
// interval. It may be called from any goroutine.
func (e *Engine) PollNow() {
	e.guard.Lock()
	defer e.guard.Unlock()
	if e.tls != nil && e.running {
		atomic.StoreInt32(&(*lib.TJSContext)(pointer(e.ctx)).Finterrupt_counter, 0)
	}
}

// ErrAborted is the error of an engine that Abort ended.
var ErrAborted = errors.New("the JavaScript engine was stopped inside a function of its own that never looks at the time")

// Abort ends a run that does not poll interrupt, for example a search through an object with an
// enormous length. It removes what every property look-up reads, and makes large blocks of memory
// inaccessible, so that the next access faults, which ends the run; the engine is then broken. It
// does nothing and returns false if nothing runs, or if still returns false because the run has
// ended. It may be called from any goroutine.
func (e *Engine) Abort(still func() bool) bool {
	e.guard.Lock()
	defer e.guard.Unlock()
	if e.tls == nil || !e.running || !still() {
		return false
	}
	e.aborted = true
	e.dropShapes()
	e.arena.seize()
	return true
}

// dropShapes clears the shapes of all objects. The engine may change the list of objects
// concurrently, so the walk may lead anywhere inside its memory, or outside: then it faults, which
// also ends the run.
func (e *Engine) dropShapes() {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() { _ = recover() }()
	rt, ctx := (*lib.TJSRuntime)(pointer(e.rt)), (*lib.TJSContext)(pointer(e.ctx))
	for i := range uintptr(rt.Fclass_count) {
		if proto := (*Value)(pointer(ctx.Fclass_proto + i*uintptr(valueSize))); IsObject(*proto) {
			atomic.StoreUintptr(&(*lib.TJSObject)(pointer(uintptr(proto.Fu.Fuint641))).Fshape, 0)
		}
	}
	head := uintptr(unsafe.Pointer(&rt.Fgc_obj_list))
	link := rt.Fgc_obj_list.Fnext
	for n := 0; link != head && n < maxWalk; n++ {
		// The list links the headers at the start of objects; the kind of an object is in the word
		// before its header.
		if kind := *(*uint8)(pointer(link - kindOffset)) & 0x7f; kind == lib.EJS_GC_OBJ_TYPE_JS_OBJECT {
			atomic.StoreUintptr(&(*lib.TJSObject)(pointer(link)).Fshape, 0)
		}
		link = (*lib.Tlist_head)(pointer(link)).Fnext
	}
}

// kindOffset is the distance from an object's header back to its kind.
const kindOffset = 5

// maxWalk limits the walk through objects while their list changes.
const maxWalk = 1 << 22

// Within runs f inside a Run, and interrupts its code when over returns true. It reports whether
// over did; the Run then continues.
func (e *Engine) Within(over func() bool, f func()) (ended bool) {
	outer := e.interrupt
	e.setInterrupt(func() bool {
		ended = over()
		stops := ended || outer != nil && outer()
		ended = ended || stops && over() // Both may stop for the same reason, which has occurred meanwhile.
		return stops
	})
	defer func() {
		e.setInterrupt(outer)
		if ended {
			e.interrupted = false
		}
	}()
	f()
	return ended
}

func (e *Engine) setInterrupt(f func() bool) {
	e.guard.Lock()
	defer e.guard.Unlock()
	e.interrupt = f
}

// Interrupted reports whether code was interrupted since the current Run began.
func (e *Engine) Interrupted() bool { return e.interrupted }

// ask reports whether the current run must end.
func (e *Engine) ask() bool {
	if !e.interrupted && e.interrupt != nil && e.interrupt() {
		e.interrupted = true
	}
	return e.interrupted
}

// pollInterval is the number of function calls and backward jumps between two polls of computing
// code, about a fifth of a millisecond. The first poll is after 10,000, the engine's own interval.
const pollInterval = 2000

// OnPace sets a function that is called about five times per millisecond while code computes. It
// may wait until over returns true, which means that the code must end.
func (e *Engine) OnPace(f func(over func() bool)) { e.pace = f }

// interruptHandler is called by the engine while code computes.
func interruptHandler(_ *libc.TLS, rt, _ uintptr) int32 {
	e := find(rt)
	if e.ask() {
		return 1
	}
	if e.pace != nil {
		e.pace(e.ask)
	}
	if e.interrupted {
		return 1
	}
	atomic.StoreInt32(&(*lib.TJSContext)(pointer(e.ctx)).Finterrupt_counter, pollInterval)
	return 0
}

// RunJobs runs pending jobs until there are none. Jobs of an interrupted run are dropped, because
// they would use the time of others. Exceptions of jobs are passed to report.
func (e *Engine) RunJobs(report func(*Exception)) {
	for lib.XJS_IsJobPending(e.tls, e.rt) != 0 {
		if e.ask() {
			e.dropJobs()
			return
		}
		if e.reactions != nil {
			e.reactions.Runs(e.nextReaction())
		}
		if lib.XJS_ExecutePendingJob(e.tls, e.rt, 0) < 0 {
			report(e.Exception())
		}
	}
}

// dropJobs makes the engine consume its jobs without running them.
func (e *Engine) dropJobs() {
	rt := (*lib.TJSRuntime)(pointer(e.rt))
	head := uintptr(unsafe.Pointer(&rt.Fjob_list))
	for link := rt.Fjob_list.Fnext; link != head; link = (*lib.Tlist_head)(pointer(link)).Fnext {
		(*lib.TJSJobEntry)(pointer(link)).Fjob_func = address(noJob)
	}
	for n := 1; lib.XJS_ExecutePendingJob(e.tls, e.rt, 0) != 0; n++ {
		if n%pollInterval == 0 {
			runtime.Gosched()
		}
	}
}

func noJob(_ *libc.TLS, _ uintptr, _ int32, _ uintptr) Value { return Undefined }

// OnRejection sets a function that is called for promises that are rejected without a handler, and
// again if they are handled later.
func (e *Engine) OnRejection(f func(promise, reason Value, handled bool)) { e.reject = f }

func trackRejection(tls *libc.TLS, ctx uintptr, promise, reason Value, handled int32, _ uintptr) {
	if e := findContext(tls, ctx); e.reject != nil {
		e.reject(promise, reason, handled != 0)
	}
}

// pointer converts an address in the engine's memory, which the Go runtime neither manages nor
// moves, to a pointer.
func pointer(p uintptr) unsafe.Pointer { return unsafe.Add(nil, p) }

// address returns the engine's reference to a Go function.
func address(f any) uintptr {
	type iface [2]uintptr
	return (*iface)(unsafe.Pointer(&f))[1]
}
