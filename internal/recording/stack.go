// SPDX-License-Identifier: Apache-2.0

package recording

import (
	"math/bits"
	"runtime"
	"sync"

	"example.org/app/internal/recording/jfr"
)

// maxDepth is the maximum number of recorded frames.
const maxDepth = 64

// stack is a stack as program counters, which are cheap to collect.
type stack struct {
	counters [maxDepth]uintptr
	depth    int
}

// capture captures the stack of the caller, without its innermost frames.
func (s *stack) capture(skip int) {
	const own = 2 // Callers and capture
	s.depth = runtime.Callers(skip+own, s.counters[:])
}

// maxStacks bounds the stacks that are remembered; parts of the server record events at few places.
const maxStacks = 4096

// symbols turns stacks into frames, and remembers them. It is safe for concurrent use.
type symbols struct {
	mu     sync.RWMutex
	stacks map[uint64][]jfr.Frame
}

// hashStack returns a number that stands for a stack.
func hashStack(counters []uintptr) (hash uint64) {
	for _, pc := range counters {
		const golden = 0x9E3779B97F4A7C15
		hash = (bits.RotateLeft64(hash, 29) ^ uint64(pc)) * golden
	}
	return hash
}

// frames returns the frames of a stack. The caller must not change them.
func (s *symbols) frames(counters []uintptr) []jfr.Frame {
	if len(counters) == 0 {
		return nil
	}
	key := hashStack(counters)
	s.mu.RLock()
	frames, ok := s.stacks[key]
	s.mu.RUnlock()
	if ok {
		return frames
	}
	frames = make([]jfr.Frame, 0, len(counters))
	list := runtime.CallersFrames(append([]uintptr(nil), counters...)) // The caller's need not be on the heap.
	for more := true; more; {
		var f runtime.Frame
		if f, more = list.Next(); f.Function != "" {
			class, method := splitName(f.Function)
			frames = append(frames, jfr.Frame{Class: class, Method: method, Line: f.Line})
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stacks == nil || len(s.stacks) >= maxStacks {
		s.stacks = map[uint64][]jfr.Frame{}
	}
	s.stacks[key] = frames
	return frames
}
