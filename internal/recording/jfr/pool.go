// SPDX-License-Identifier: Apache-2.0

package jfr

import (
	"strings"
	"sync"
	"sync/atomic"
)

// lastKey is the greatest key of the constants of finished chunks. Readers remember constants of
// earlier chunks of a file by key, so a key must not mean something else in a later chunk. A later
// chunk of a file must therefore be begun after the previous one was finished.
var lastKey atomic.Int64

// stableKeys assigns constants of one pool keys that are the same in all chunks of a process.
// Readers identify constants by key when they group events, so a method must keep its key in the
// next chunk.
type stableKeys struct {
	mu   sync.Mutex
	keys map[string]int64
	last int64
}

// maxStable bounds the remembered names. Programs have fewer; further ones get new keys.
const maxStable = 1 << 16

func (s *stableKeys) of(name string) int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	if key, ok := s.keys[name]; ok {
		return key
	}
	if s.keys == nil || len(s.keys) >= maxStable {
		s.keys = map[string]int64{}
	}
	s.last++
	s.keys[name] = s.last
	return s.last
}

var stableThreads, stableClasses, stableMethods, stableConstants stableKeys

// pools are the constants that the events of a chunk refer to. Key 0 is null.
type pools struct {
	strings, symbols, threads, packages, classes, stacks pool[string]
	methods                                              pool[method]
	constants                                            [kinds]pool[string]
	size                                                 int
	// base is the key before the first of each pool, last the greatest key so far.
	base, last int64
	key        []byte // scratch space
}

type method struct{ class, name string }

// A pool gives each value a key, in the order in which the values come.
type pool[K comparable] struct {
	keys    map[K]int64
	encoded []byte
}

// intern returns the key of a value. An unknown value gets the next key, and the caller has to
// encode it.
func (p *pool[K]) intern(ps *pools, v K) (key int64, fresh bool) {
	if key, ok := p.keys[v]; ok {
		return key, false
	}
	if p.keys == nil {
		p.keys = map[K]int64{}
	}
	key = ps.base + int64(len(p.keys)+1)
	ps.last = max(ps.last, key)
	p.keys[v] = key
	return key, true
}

// internStable is intern with a key that is the same in all chunks. name must stand for the value
// in all of them.
func (p *pool[K]) internStable(stable *stableKeys, v K, name string) (key int64, fresh bool) {
	if key, ok := p.keys[v]; ok {
		return key, false
	}
	if p.keys == nil {
		p.keys = map[K]int64{}
	}
	key = stable.of(name)
	p.keys[v] = key
	return key, true
}

// The thread group that all threads are in, and the descriptor of all methods.
const (
	groupKey   = 1 // It means the same in every chunk.
	groupName  = "main"
	descriptor = "()V"
)

func (p *pools) init(base int64) {
	p.base, p.last = base, base
	p.symbol(descriptor)
}

// maxPooledString is the maximum length of pooled strings; longer ones are rare and inlined.
const maxPooledString = 256

func (p *pools) appendText(b []byte, s string) []byte {
	if len(s) < 4 || len(s) > maxPooledString {
		return appendString(b, s)
	}
	key, fresh := p.strings.intern(p, s)
	if fresh {
		p.begin(&p.strings.encoded, key)
		p.end(&p.strings.encoded, appendString(p.strings.encoded, s))
	}
	return appendVarint(append(b, stringPool), key)
}

// begin and end frame the encoding of one constant and count its bytes.
func (p *pools) begin(encoded *[]byte, key int64) {
	p.size -= len(*encoded)
	*encoded = appendVarint(*encoded, key)
}

func (p *pools) end(encoded *[]byte, now []byte) {
	*encoded = now
	p.size += len(now)
}

func (p *pools) symbol(s string) int64 {
	if s == "" {
		return 0
	}
	key, fresh := p.symbols.intern(p, s)
	if fresh {
		p.begin(&p.symbols.encoded, key)
		p.end(&p.symbols.encoded, appendString(p.symbols.encoded, s))
	}
	return key
}

func (p *pools) thread(name string) int64 {
	if name == "" {
		return 0
	}
	key, fresh := p.threads.internStable(&stableThreads, name, name)
	if fresh {
		p.begin(&p.threads.encoded, key)
		b := appendString(p.threads.encoded, name)
		b = appendVarint(b, key)
		b = appendString(b, name)
		b = appendVarint(b, key)
		b = appendVarint(b, groupKey)
		p.end(&p.threads.encoded, append(b, boolByte(false)))
	}
	return key
}

func (p *pools) pkg(class string) int64 {
	i := strings.LastIndexByte(class, '/')
	if i < 0 {
		return 0
	}
	key, fresh := p.packages.intern(p, class[:i])
	if fresh {
		name := p.symbol(class[:i])
		p.begin(&p.packages.encoded, key)
		b := appendVarint(p.packages.encoded, name)
		b = appendVarint(b, 0)
		p.end(&p.packages.encoded, append(b, boolByte(true)))
	}
	return key
}

func (p *pools) class(name string) int64 {
	if name == "" {
		return 0
	}
	key, fresh := p.classes.internStable(&stableClasses, name, name)
	if fresh {
		symbol, pkg := p.symbol(name), p.pkg(name)
		p.begin(&p.classes.encoded, key)
		b := appendVarint(p.classes.encoded, 0)
		b = appendVarint(b, symbol)
		b = appendVarint(b, pkg)
		b = appendVarint(b, 1) // public
		p.end(&p.classes.encoded, append(b, boolByte(false)))
	}
	return key
}

func (p *pools) method(class, name string) int64 {
	m := method{class, name}
	if key, ok := p.methods.keys[m]; ok {
		return key
	}
	classKey, nameKey := p.class(class), p.symbol(name)
	key, fresh := p.methods.internStable(&stableMethods, m, class+"\x00"+name)
	if fresh {
		p.begin(&p.methods.encoded, key)
		b := appendVarint(p.methods.encoded, classKey)
		b = appendVarint(b, nameKey)
		b = appendVarint(b, p.symbol(descriptor))
		b = appendVarint(b, 9) // public static
		p.end(&p.methods.encoded, append(b, boolByte(false)))
	}
	return key
}

func (p *pools) constant(kind Kind, name string) int64 {
	if name == "" {
		return 0
	}
	pool := &p.constants[kind]
	key, fresh := pool.internStable(&stableConstants, name, name)
	if fresh {
		p.begin(&pool.encoded, key)
		p.end(&pool.encoded, appendString(pool.encoded, name))
	}
	return key
}

// maxFrames is how many frames of a stack are kept.
const maxFrames = 128

func (p *pools) stack(frames []Frame) int64 {
	if len(frames) == 0 {
		return 0
	}
	truncated := len(frames) > maxFrames
	frames = frames[:min(len(frames), maxFrames)]
	b := append(p.key[:0], boolByte(truncated))
	b = appendVarint(b, int64(len(frames)))
	for _, f := range frames {
		kind := f.Type
		if kind == "" {
			kind = "Go"
		}
		b = appendVarint(b, p.method(f.Class, f.Method))
		b = appendVarint(b, int64(f.Line))
		b = appendVarint(b, 0)
		b = appendVarint(b, p.constant(KindFrameType, kind))
	}
	p.key = b
	if key, ok := p.stacks.keys[string(b)]; ok {
		return key
	}
	key, _ := p.stacks.intern(p, string(b))
	p.begin(&p.stacks.encoded, key)
	p.end(&p.stacks.encoded, append(p.stacks.encoded, b...))
	return key
}

// appendCheckpoint appends the event that holds the pools.
func (p *pools) appendCheckpoint(out []byte, now int64) []byte {
	b := appendVarint(nil, checkpointEvent)
	b = appendVarint(b, now)
	b = appendVarint(b, 0)
	b = appendVarint(b, 0) // no earlier checkpoint
	b = append(b, 0)
	var count int64
	var pools []byte
	add := func(typeID, entries int, encoded []byte) {
		if entries == 0 {
			return
		}
		count++
		pools = appendVarint(pools, int64(typeID))
		pools = appendVarint(pools, int64(entries))
		pools = append(pools, encoded...)
	}
	if len(p.threads.keys) > 0 {
		group := appendVarint(nil, groupKey)
		group = appendVarint(group, 0)
		add(idThreadGroup, 1, appendString(group, groupName))
	}
	add(idString, len(p.strings.keys), p.strings.encoded)
	add(idSymbol, len(p.symbols.keys), p.symbols.encoded)
	add(idThread, len(p.threads.keys), p.threads.encoded)
	add(idPackage, len(p.packages.keys), p.packages.encoded)
	add(idClass, len(p.classes.keys), p.classes.encoded)
	add(idMethod, len(p.methods.keys), p.methods.encoded)
	add(idStackTrace, len(p.stacks.keys), p.stacks.encoded)
	for kind := range p.constants {
		add(kindTable[kind].typeID, len(p.constants[kind].keys), p.constants[kind].encoded)
	}
	b = appendVarint(b, count)
	out = appendVarint(out, sizeWithPrefix(len(b)+len(pools)))
	return append(append(out, b...), pools...)
}
