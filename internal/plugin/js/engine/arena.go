// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"unsafe"

	"modernc.org/libc"
	lib "modernc.org/libquickjs"
	"modernc.org/memory"
)

// An arena is the memory of one engine. It is separate from that of others, so that it can be freed
// as a whole even if the engine is broken. Like the engine it belongs to one goroutine at a time.
type arena struct {
	memory memory.Allocator
	id     uintptr

	// mu guards seized and large, the blocks with their own pages and their sizes.
	mu     sync.Mutex
	large  map[uintptr]uintptr
	seized bool
}

// largeBlock is the minimum size of blocks in large.
const largeBlock = 64 << 10

// arenas are the arenas by id. The list is copied on write, because it is read for every
// allocation.
var (
	arenas   atomic.Pointer[[]*arena]
	arenasMu sync.Mutex
)

func newArena() *arena {
	arenasMu.Lock()
	defer arenasMu.Unlock()
	a := &arena{}
	var list []*arena
	if old := arenas.Load(); old != nil {
		list = slices.Clone(*old)
	}
	i := slices.Index(list, nil)
	if i < 0 {
		i, list = len(list), append(list, nil)
	}
	list[i], a.id = a, uintptr(i)
	arenas.Store(&list)
	return a
}

// Live returns the number of engines that are not closed.
func Live() (n int) {
	list := arenas.Load()
	if list == nil {
		return 0
	}
	for _, a := range *list {
		if a != nil {
			n++
		}
	}
	return n
}

// note adds an allocated large block to large. It faults in a seized arena, whose code must not
// continue.
func (a *arena) note(p uintptr) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.seized {
		panic(ErrAborted)
	}
	if a.large == nil {
		a.large = map[uintptr]uintptr{}
	}
	a.large[p] = uintptr(usable(p))
}

// forget removes a block that is about to be freed.
func (a *arena) forget(p uintptr) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.seized {
		panic(ErrAborted)
	}
	delete(a.large, p)
}

// seize makes every access to a large block fault until the arena is closed. It may be called from
// any goroutine.
func (a *arena) seize() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.seized = true
	for p, size := range a.large {
		protect(p, size, true)
	}
}

// close frees the memory.
func (a *arena) close() {
	for p, size := range a.large {
		if a.seized {
			protect(p, size, false)
		}
	}
	arenasMu.Lock()
	list := slices.Clone(*arenas.Load())
	list[a.id] = nil
	arenas.Store(&list)
	arenasMu.Unlock()
	_ = a.memory.Close() // It fails only if memory was not mapped, which is impossible.
}

// newRuntime creates a runtime whose memory is the arena; 0 means out of memory.
func (a *arena) newRuntime(tls *libc.TLS) uintptr {
	size := int(unsafe.Sizeof(lib.TJSMallocFunctions{}))
	functions := tls.Alloc(size)
	defer tls.Free(size)
	*(*lib.TJSMallocFunctions)(pointer(functions)) = lib.TJSMallocFunctions{
		Fjs_malloc: address(arenaMalloc), Fjs_free: address(arenaFree),
		Fjs_realloc: address(arenaRealloc), Fjs_malloc_usable_size: address(arenaUsableSize),
	}
	return lib.XJS_NewRuntime2(tls, functions, a.id)
}

// arenaOf returns the arena of a runtime.
func arenaOf(s *lib.TJSMallocState) *arena { return (*arenas.Load())[s.Fopaque] }

// The functions below count the engine's memory and fail beyond its limit.

func arenaMalloc(_ *libc.TLS, state uintptr, size lib.Tsize_t) uintptr {
	s := (*lib.TJSMallocState)(pointer(state))
	if s.Fmalloc_size+size > s.Fmalloc_limit {
		return 0
	}
	a := arenaOf(s)
	p, err := a.memory.UintptrMalloc(int(size))
	if err != nil || p == 0 {
		return 0
	}
	if size >= largeBlock {
		a.note(p)
	}
	s.Fmalloc_count++
	s.Fmalloc_size += usable(p) + lib.MMALLOC_OVERHEAD
	return p
}

func arenaFree(_ *libc.TLS, state, p uintptr) {
	if p == 0 {
		return
	}
	s := (*lib.TJSMallocState)(pointer(state))
	a, size := arenaOf(s), usable(p)
	if size >= largeBlock {
		a.forget(p)
	}
	s.Fmalloc_count--
	s.Fmalloc_size -= size + lib.MMALLOC_OVERHEAD
	_ = a.memory.UintptrFree(p)
}

func arenaRealloc(tls *libc.TLS, state, p uintptr, size lib.Tsize_t) uintptr {
	s := (*lib.TJSMallocState)(pointer(state))
	switch {
	case p == 0 && size == 0:
		return 0
	case p == 0:
		return arenaMalloc(tls, state, size)
	case size == 0:
		arenaFree(tls, state, p)
		return 0
	}
	before := usable(p)
	if s.Fmalloc_size+size-before > s.Fmalloc_limit {
		return 0
	}
	a := arenaOf(s)
	if before >= largeBlock {
		a.forget(p)
	}
	next, err := a.resize(p, int(before), int(size))
	if err != nil || next == 0 {
		if before >= largeBlock {
			a.note(p)
		}
		return 0
	}
	if size >= largeBlock {
		a.note(next)
	}
	s.Fmalloc_size += usable(next) - before
	return next
}

// resize is UintptrRealloc, which yields to other goroutines while it copies much.
func (a *arena) resize(p uintptr, before, size int) (uintptr, error) {
	if before < largeBlock || before >= size {
		return a.memory.UintptrRealloc(p, size)
	}
	next, err := a.memory.UintptrMalloc(size)
	if err != nil || next == 0 {
		return 0, err
	}
	copyPieces(unsafe.Slice((*byte)(pointer(next)), before), unsafe.Slice((*byte)(pointer(p)), before))
	return next, a.memory.UintptrFree(p)
}

// pieceSize is the number of bytes to copy at a time.
const pieceSize = 256 << 10

// copyPieces is copy for large slices. The runtime cannot preempt copy, which takes tens of
// milliseconds for some megabytes of new memory; a garbage collection that needs to stop the
// goroutine would block another processor meanwhile.
func copyPieces(dst, src []byte) (n int) {
	for size := min(len(dst), len(src)); n < size; {
		if n > 0 {
			runtime.Gosched()
		}
		n += copy(dst[n:], src[n:min(n+pieceSize, size)])
	}
	return n
}

func arenaUsableSize(_ *libc.TLS, p uintptr) lib.Tsize_t { return usable(p) }

func usable(p uintptr) lib.Tsize_t { return lib.Tsize_t(memory.UintptrUsableSize(p)) }
