// SPDX-License-Identifier: Apache-2.0

// Package heapdump determines which plugin retains the memory of a JVM, from the heap dump that the
// JVM writes when its heap is full. It parses HPROF 1.0.2 as far as needed, and does not know
// processes.
package heapdump

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"
)

// A Holding is the memory in a heap by owner.
type Holding struct {
	// Total is the number of bytes in use, and Plugins the number of bytes that each plugin
	// retains, by its number in the JVM: objects reachable only from its classes, its objects and
	// its threads, and the classes themselves.
	Total   int64
	Plugins map[int]int64
}

// Largest returns the number of the plugin that retains most of the plugins' memory, and at least a
// quarter of the total. It returns false if there is none.
func (h Holding) Largest() (number int, held int64, ok bool) {
	var sum int64
	for n, bytes := range h.Plugins {
		if sum += bytes; bytes > held {
			number, held = n, bytes
		}
	}
	return number, held, held > sum/2 && held >= h.Total/4
}

// Names of the host's classes and fields that identify the objects of a plugin.
const (
	loaderClass = "im/app/plugin/host/load/PluginLoader"
	baseLoader  = "java/lang/ClassLoader"
	threadClass = "java/lang/Thread"
	numberField = "module"
	parentField = "parent"
	threadField = "contextClassLoader"
)

// Types of values in a dump.
const (
	typeObject  = 2
	typeBoolean = 4
	typeLong    = 11
)

// sizes are the sizes of the types from boolean to long.
var sizes = [...]int{typeBoolean: 1, 5: 2, 6: 4, 7: 8, 8: 1, 9: 2, 10: 4, typeLong: 8}

// Tags of records and subrecords.
const (
	recordString  = 0x01
	recordClass   = 0x02
	recordHeap    = 0x0c
	recordSegment = 0x1c

	rootUnknown  = 0xff
	rootGlobal   = 0x01
	rootLocal    = 0x02
	rootFrame    = 0x03
	rootNative   = 0x04
	rootClass    = 0x05
	rootBlock    = 0x06
	rootMonitor  = 0x07
	rootThread   = 0x08
	dumpClass    = 0x20
	dumpInstance = 0x21
	dumpObjects  = 0x22
	dumpValues   = 0x23
)

// A dump is a parsed file.
type dump struct {
	data    []byte
	idSize  int
	names   map[uint64]string
	classes map[uint64]*class
	// objects are all objects except classes, sorted by id after parsing.
	objects []object
	roots   []root
	// threads maps the thread numbers of roots to thread objects.
	threads map[uint32]uint64
}

// An object is the offset of an object's record, and its owner.
type object struct {
	id uint64
	at int
	// holder is the number of a plugin, 0 if unknown, or server.
	holder int32
	kind   byte
}

// server is the owner of objects that no plugin retains.
const server = math.MaxInt32

type class struct {
	name          string
	super, loader uint64
	// fields are the fields that the class declares, in their order in an instance.
	fields []field
	// statics are the references of its static fields and of the class itself.
	statics []uint64
	// layout contains the offsets of references in an instance; it is set on first use.
	layout []int
	laid   bool
	// holder is the number of the plugin that it belongs to, if any; isLoader and thread are its
	// kind.
	holder           int32
	isLoader, thread bool
}

type field struct {
	name uint64
	kind byte
}

// A root is a GC root, of a thread if it names one.
type root struct {
	id     uint64
	thread uint32
	of     bool
}

var errDump = errors.New("the heap dump cannot be read")

// Read determines the owners of the memory in a dump.
func Read(data []byte) (h Holding, err error) {
	defer func() {
		// Every length in the file is used as an index; an invalid one ends the parsing.
		if r := recover(); r != nil {
			h, err = Holding{}, fmt.Errorf("%w: %v", errDump, r)
		}
	}()
	d := &dump{data: data, names: make(map[uint64]string), classes: make(map[uint64]*class), threads: make(map[uint32]uint64)}
	if err := d.read(); err != nil {
		return Holding{}, err
	}
	return d.hold(), nil
}

// A cursor reads consecutive values. It panics beyond the end.
type cursor struct {
	d  *dump
	at int
}

func (c *cursor) skip(n int) {
	if n < 0 || n > len(c.d.data)-c.at {
		panic("it ends too early")
	}
	c.at += n
}

func (c *cursor) u1() byte { v := c.d.data[c.at]; c.at++; return v }

func (c *cursor) u2() int { v := binary.BigEndian.Uint16(c.d.data[c.at:]); c.at += 2; return int(v) }

func (c *cursor) u4() uint32 { v := binary.BigEndian.Uint32(c.d.data[c.at:]); c.at += 4; return v }

func (c *cursor) id() uint64 {
	v := c.d.reference(c.at)
	c.at += c.d.idSize
	return v
}

// reference reads an id.
func (d *dump) reference(at int) uint64 {
	if d.idSize == 4 {
		return uint64(binary.BigEndian.Uint32(d.data[at:]))
	}
	return binary.BigEndian.Uint64(d.data[at:])
}

func (d *dump) size(kind byte) int {
	if kind == typeObject {
		return d.idSize
	}
	if kind < typeBoolean || kind > typeLong {
		panic("a value has an unknown type")
	}
	return sizes[kind]
}

// read parses the whole file.
func (d *dump) read() error {
	end := bytes.IndexByte(d.data, 0)
	if end < 0 || !bytes.HasPrefix(d.data, []byte("JAVA PROFILE 1.0.")) {
		return fmt.Errorf("%w: it is none", errDump)
	}
	c := &cursor{d, end + 1}
	if d.idSize = int(c.u4()); d.idSize != 4 && d.idSize != 8 {
		return fmt.Errorf("%w: ids have %d bytes", errDump, d.idSize)
	}
	c.skip(8)
	for c.at < len(d.data) {
		tag := c.u1()
		c.skip(4)
		length := int(c.u4())
		from := c.at
		c.skip(length)
		body := &cursor{d, from}
		switch tag {
		case recordString:
			id := body.id()
			if n := c.at - body.at; n <= len(loaderClass) {
				d.names[id] = string(d.data[body.at:c.at])
			}
		case recordClass:
			body.skip(4)
			id := body.id()
			body.skip(4)
			d.class(id).name = d.names[body.id()]
		case recordHeap, recordSegment:
			for body.at < c.at {
				d.part(body)
			}
		}
	}
	slices.SortFunc(d.objects, func(a, b object) int {
		switch {
		case a.id < b.id:
			return -1
		case a.id > b.id:
			return 1
		}
		return 0
	})
	return nil
}

func (d *dump) class(id uint64) *class {
	c := d.classes[id]
	if c == nil {
		c = &class{}
		d.classes[id] = c
	}
	return c
}

// part parses a subrecord of a dump.
func (d *dump) part(c *cursor) {
	at := c.at
	switch tag := c.u1(); tag {
	case rootUnknown, rootClass, rootMonitor:
		d.roots = append(d.roots, root{id: c.id()})
	case rootGlobal:
		d.roots = append(d.roots, root{id: c.id()})
		c.skip(d.idSize)
	case rootLocal, rootFrame:
		d.roots = append(d.roots, root{c.id(), c.u4(), true})
		c.skip(4)
	case rootNative, rootBlock:
		d.roots = append(d.roots, root{c.id(), c.u4(), true})
	case rootThread:
		id, number := c.id(), c.u4()
		c.skip(4)
		d.threads[number] = id
		d.roots = append(d.roots, root{id, number, true})
	case dumpClass:
		d.readClass(c)
	case dumpInstance:
		d.objects = append(d.objects, object{id: c.id(), at: at, kind: tag})
		c.skip(4 + d.idSize)
		c.skip(int(c.u4()))
	case dumpObjects:
		d.objects = append(d.objects, object{id: c.id(), at: at, kind: tag})
		c.skip(4)
		n := int(c.u4())
		c.skip((n + 1) * d.idSize)
	case dumpValues:
		d.objects = append(d.objects, object{id: c.id(), at: at, kind: tag})
		c.skip(4)
		n := int(c.u4())
		c.skip(n * d.size(c.u1()))
	default:
		panic(fmt.Sprintf("a part is of the kind %#x", tag))
	}
}

func (d *dump) readClass(c *cursor) {
	k := d.class(c.id())
	c.skip(4)
	k.super, k.loader = c.id(), c.id()
	k.statics = append(k.statics, k.super, k.loader, c.id(), c.id())
	c.skip(2*d.idSize + 4)
	for range c.u2() {
		c.skip(2)
		c.skip(d.size(c.u1()))
	}
	for range c.u2() {
		c.skip(d.idSize)
		kind := c.u1()
		if kind == typeObject {
			k.statics = append(k.statics, d.reference(c.at))
		}
		c.skip(d.size(kind))
	}
	for range c.u2() {
		k.fields = append(k.fields, field{c.id(), c.u1()})
	}
}

// find finds an object by id; nil if there is none.
func (d *dump) find(id uint64) *object {
	i, found := slices.BinarySearchFunc(d.objects, id, func(o object, id uint64) int {
		switch {
		case o.id < id:
			return -1
		case o.id > id:
			return 1
		}
		return 0
	})
	if !found {
		return nil
	}
	return &d.objects[i]
}

// instance returns the class of an instance and the offset of its fields.
func (d *dump) instance(o *object) (*class, int) {
	c := &cursor{d, o.at + 1 + d.idSize + 4}
	k := d.classes[c.id()]
	return k, c.at + 4
}

// field returns the offset of an instance's field that is declared in the named class; 0 if there
// is none.
func (d *dump) field(o *object, declaring, name string) int {
	if o == nil || o.kind != dumpInstance {
		return 0
	}
	k, at := d.instance(o)
	for depth := 0; k != nil && depth < maxDepth; depth++ {
		for _, f := range k.fields {
			if k.name == declaring && d.names[f.name] == name {
				return at
			}
			at += d.size(f.kind)
		}
		k = d.classes[k.super]
	}
	return 0
}
