// SPDX-License-Identifier: Apache-2.0

// Package engine holds one QuickJS runtime with one context: values, functions, modules, jobs and limits, in the
// terms of the engine. It knows nothing of plugins.
//
// An Engine consists of layers, each of which embeds the one below it: Values, Objects, Stack and Functions. What needs one
// layer takes that one.
//
// An Engine belongs to one goroutine at a time; only Memory may be called from anywhere. Values that a function
// returns are owned by the caller, who frees them once; values that a function gets are borrowed, unless its comment
// says that it takes them.
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

// slotBytes is how much of a native stack one slot of the engine's stack stands for, so that a limit in bytes means
// about the same depth as in the engine's native build.
const slotBytes = 210

// maxSlots keeps the deepest recursion far below the size at which the Go runtime gives up.
const maxSlots = 20000

// Limits bound what a script can use.
type Limits struct {
	// Memory is in bytes; 0 is unlimited.
	Memory int64
	// Stack is in bytes of a native stack; 0 is the engine's default of about one mebibyte.
	Stack int64
}

// An Engine is a runtime with one context.
type Engine struct {
	Functions

	// interrupt is asked now and then while code runs; true ends it with an exception that it cannot catch. pace is called
	// when it has said false.
	interrupt   func() bool
	pace        func(over func() bool)
	interrupted bool
	running     bool

	resolve func(base, name string) (string, error)
	source  func(name string) (string, error)
	reject  func(promise, reason Value, handled bool)

	reactions *reactions // nil if nobody is told

	memory atomic.Int64
	broken error

	// guard keeps the memory of the engine in place while another goroutine looks at it; it guards running, condemned
	// and the end of the engine.
	guard     sync.Mutex
	condemned bool
	arena     *arena

	// limit is that of the memory, and floor how much of it was held when Relieve last looked or collected.
	limit, floor int64
}

// engines finds the engine that a callback of the runtime belongs to.
var engines sync.Map

func find(rt uintptr) *Engine {
	e, _ := engines.Load(rt)
	return e.(*Engine)
}

func findContext(tls *libc.TLS, ctx uintptr) *Engine { return find(lib.XJS_GetRuntime(tls, ctx)) }

// New makes an engine.
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

// Close frees everything and returns how many objects were left that nobody freed, which is a mistake of the owner. What
// an engine that is broken points to is unknown; its memory is freed as a whole.
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

// objects counts the objects that are alive.
func (e *Engine) objects() (n int) {
	rt := (*lib.TJSRuntime)(pointer(e.rt))
	head := uintptr(unsafe.Pointer(&rt.Fgc_obj_list))
	for link := rt.Fgc_obj_list.Fnext; link != head; link = (*lib.Tlist_head)(pointer(link)).Fnext {
		n++
	}
	return n
}

// Memory is how many bytes the engine holds, as of the end of the last run.
func (e *Engine) Memory() int64 { return e.memory.Load() }

func (e *Engine) publish() {
	rt := (*lib.TJSRuntime)(pointer(e.rt))
	e.memory.Store(int64(rt.Fmalloc_ctx.Fmalloc_state.Fmalloc_size))
}

// Err is not nil once the engine is broken and can only be closed.
func (e *Engine) Err() error { return e.broken }

// Collect frees what only cycles hold.
func (e *Engine) Collect() {
	lib.XJS_RunGC(e.tls, e.rt)
	e.publish()
}

// Relieve collects if the memory is nearly used up. The engine collects by itself when it has grown by half, which can
// be beyond the limit: then what a run left in cycles would take the memory of the next one. Memory that is really in
// use does not cause a collection every time.
func (e *Engine) Relieve() {
	size := e.Memory()
	if size >= e.limit/4*3 && size >= e.floor+(e.limit-e.floor)/2 && e.limit > 0 {
		e.Collect()
		e.floor = e.Memory()
	}
	e.floor = min(e.floor, size)
}

// Run runs f, in which code of the engine may run, until it returns or interrupt says true. A panic below f that came
// through the engine leaves its stack in disorder: the engine is then broken, and Run returns the reason.
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
		if done && !e.condemned && e.frame() == 0 && e.tls.StackSlots() == sp {
			e.publish()
			return
		}
		if e.condemned {
			_ = recover() // It is what Break did.
			e.broken = ErrBroken
			err = e.broken
			return
		}
		e.broken = fmt.Errorf("the JavaScript engine failed: %v", recover())
		err = e.broken
	}()
	f()
	e.unpatch()
	e.leaving = Frame{}
	// What an interruption or a want of memory threw where nothing could be done about it is nobody's any more. It would
	// hold everything that it refers to until the next exception.
	if (*lib.TJSRuntime)(pointer(e.rt)).Fcurrent_exception.Ftag != lib.EJS_TAG_UNINITIALIZED {
		e.Drop()
	}
	done = true
	return nil
}

// Hurry makes the code that runs ask at its next opportunity whether it must end, which it else does only now and then.
// It may be called from any goroutine.
func (e *Engine) Hurry() {
	e.guard.Lock()
	defer e.guard.Unlock()
	if e.tls != nil && e.running {
		atomic.StoreInt32(&(*lib.TJSContext)(pointer(e.ctx)).Finterrupt_counter, 0)
	}
}

// ErrBroken is the reason of an engine that Break ended.
var ErrBroken = errors.New("the JavaScript engine was stopped inside a function of its own that never looks at the time")

// Break ends a run that does not ask whether it must end, as in a search through an object with an enormous length. It
// takes away what every look-up of a property reads, and the large blocks of memory, so that the next access faults,
// which ends the run; the engine is broken then. It does nothing and returns false if nothing runs, or if still says that
// the run to be ended is over. It may be called from any goroutine.
func (e *Engine) Break(still func() bool) bool {
	e.guard.Lock()
	defer e.guard.Unlock()
	if e.tls == nil || !e.running || !still() {
		return false
	}
	e.condemned = true
	e.dropShapes()
	e.arena.seize()
	return true
}

// dropShapes takes the shapes of all objects away. The engine may change the list of objects meanwhile, so that the walk
// can lead anywhere inside its memory, or outside: then it faults, which is as well.
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
		// The list links the headers, which objects begin with; the kind of one is in the word before it.
		if kind := *(*uint8)(pointer(link - kindOffset)) & 0x7f; kind == lib.EJS_GC_OBJ_TYPE_JS_OBJECT {
			atomic.StoreUintptr(&(*lib.TJSObject)(pointer(link)).Fshape, 0)
		}
		link = (*lib.Tlist_head)(pointer(link)).Fnext
	}
}

// kindOffset is how far the kind of an object is before its header.
const kindOffset = 5

// maxWalk bounds the walk through objects whose list changes.
const maxWalk = 1 << 22

// Within runs f inside a Run, and ends its code early when over says so. It reports whether over did; the Run then goes on.
func (e *Engine) Within(over func() bool, f func()) (ended bool) {
	outer := e.interrupt
	e.setInterrupt(func() bool {
		ended = over()
		stops := ended || outer != nil && outer()
		ended = ended || stops && over() // Both may stop for one reason, which has come meanwhile.
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

// Interrupted reports whether code was interrupted since the present Run began.
func (e *Engine) Interrupted() bool { return e.interrupted }

// ask asks whether the present run must end.
func (e *Engine) ask() bool {
	if !e.interrupted && e.interrupt != nil && e.interrupt() {
		e.interrupted = true
	}
	return e.interrupted
}

// pollInterval is after how many function calls and jumps backwards code that goes on to compute is interrupted again,
// which takes about a fifth of a millisecond. It is interrupted first after 10,000, as the engine counts.
const pollInterval = 2000

// OnPace sets who is called, about five times in a millisecond, while code computes. It may wait, until over says that the
// code must end.
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

// RunJobs runs pending jobs until there are none. Jobs of a run that was interrupted are dropped, because they would
// take the time of others. What a job throws goes to report.
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

// dropJobs lets the engine consume its jobs without running them.
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

// OnRejection sets who is told of promises that are rejected while nobody listens, and of those that somebody listens
// to afterwards.
func (e *Engine) OnRejection(f func(promise, reason Value, handled bool)) { e.reject = f }

func trackRejection(tls *libc.TLS, ctx uintptr, promise, reason Value, handled int32, _ uintptr) {
	if e := findContext(tls, ctx); e.reject != nil {
		e.reject(promise, reason, handled != 0)
	}
}

// pointer makes a pointer into the engine's memory, which the Go runtime does not manage and never moves.
func pointer(p uintptr) unsafe.Pointer { return unsafe.Add(nil, p) }

// address is how the engine refers to a Go function.
func address(f any) uintptr {
	type iface [2]uintptr
	return (*iface)(unsafe.Pointer(&f))[1]
}
