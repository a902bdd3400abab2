// SPDX-License-Identifier: Apache-2.0

package heapdump

import "encoding/binary"

// headSize is the approximate size of an object's header.
const headSize = 16

// classSize is the approximate size of a small class, which is not in the heap but in a limited
// space, too.
const classSize = 4 << 10

// hold assigns objects to owners: to the server what is reachable from it without passing through a
// plugin, and to each plugin what else is reachable from it.
func (d *dump) hold() Holding {
	loaders := d.loaders()
	plugins := make(map[int32]bool)
	for _, k := range d.classes {
		if k.holder = loaders[k.loader]; k.holder != 0 {
			plugins[k.holder] = true
		}
	}
	own := make(map[uint64]int32, len(loaders))
	for id, n := range loaders {
		own[id] = n
	}
	// The objects of plugins are recognised by their classes, and their threads by the context
	// class loader.
	for i := range d.objects {
		o := &d.objects[i]
		if o.kind != dumpInstance {
			continue
		}
		k, _ := d.instance(o)
		if k == nil {
			continue
		}
		if k.holder != 0 {
			own[o.id] = k.holder
		} else if k.thread {
			if at := d.field(o, threadClass, threadField); at != 0 && loaders[d.reference(at)] != 0 {
				own[o.id] = loaders[d.reference(at)]
			}
		}
	}
	h := Holding{Plugins: make(map[int]int64)}
	w := &walk{dump: d, own: own, holder: server}
	for _, r := range d.roots {
		if !r.of || own[d.threads[r.thread]] == 0 {
			w.reach(r.id)
		}
	}
	for id, k := range d.classes {
		if k.holder == 0 {
			w.reach(id)
		}
	}
	h.Total = w.run()
	for n := range plugins {
		w.holder = n
		for id, k := range d.classes {
			if k.holder == n {
				w.reach(id)
			}
		}
		for id, of := range own {
			if of == n {
				w.reach(id)
			}
		}
		for _, r := range d.roots {
			if r.of && own[d.threads[r.thread]] == n {
				w.reach(r.id)
			}
		}
		held := w.run()
		h.Plugins[int(n)] = held
		h.Total += held
	}
	return h
}

// loaders returns the numbers of plugins by the ids of their class loaders, and of those that they
// created.
func (d *dump) loaders() map[uint64]int32 {
	for _, k := range d.classes {
		k.isLoader, k.thread = d.is(k, baseLoader), d.is(k, threadClass)
	}
	list := make(map[uint64]int32)
	parents := make(map[uint64]uint64)
	for i := range d.objects {
		o := &d.objects[i]
		if o.kind != dumpInstance {
			continue
		}
		k, _ := d.instance(o)
		if k == nil || !k.isLoader {
			continue
		}
		if at := d.field(o, loaderClass, numberField); at != 0 {
			list[o.id] = int32(binary.BigEndian.Uint32(d.data[at:]))
		} else if at := d.field(o, baseLoader, parentField); at != 0 {
			parents[o.id] = d.reference(at)
		}
	}
	for id := range parents {
		above := id
		for range len(parents) { // A file may contain loaders that are their own parents.
			if above = parents[above]; above == 0 {
				break
			}
			if n := list[above]; n != 0 {
				list[id] = n
				break
			}
		}
	}
	return list
}

// maxDepth is the maximum length of a superclass chain.
const maxDepth = 1000

// is reports whether a class is the named one or a subclass of it.
func (d *dump) is(k *class, name string) bool {
	for range maxDepth {
		if k == nil || k.name == name {
			return k != nil
		}
		k = d.classes[k.super]
	}
	return false
}

// A walk marks the objects reachable from an owner.
type walk struct {
	*dump
	// own are the objects that belong to plugins, which other owners do not traverse.
	own    map[uint64]int32
	holder int32
	queue  []*object
	// classes are the visited classes.
	visited map[uint64]bool
	bytes   int64
}

// reach adds a reference.
func (w *walk) reach(id uint64) {
	if id == 0 {
		return
	}
	if k := w.classes[id]; k != nil {
		if w.visited[id] || k.holder != 0 && k.holder != w.holder {
			return
		}
		if w.visited == nil {
			w.visited = make(map[uint64]bool)
		}
		w.visited[id] = true
		w.bytes += classSize
		for _, to := range k.statics {
			w.reach(to)
		}
		return
	}
	if of := w.own[id]; of != 0 && of != w.holder {
		return
	}
	if o := w.find(id); o != nil && o.holder == 0 {
		o.holder = w.holder
		w.queue = append(w.queue, o)
	}
}

// run visits all reachable objects, and returns their size in bytes.
func (w *walk) run() int64 {
	for len(w.queue) > 0 {
		o := w.queue[len(w.queue)-1]
		w.queue = w.queue[:len(w.queue)-1]
		w.visit(o)
	}
	sum := w.bytes
	w.bytes = 0
	return sum
}

func (w *walk) visit(o *object) {
	w.bytes += headSize
	c := &cursor{w.dump, o.at + 1 + w.idSize + 4}
	switch o.kind {
	case dumpInstance:
		k := w.class(c.id())
		w.bytes += int64(c.u4())
		for _, offset := range w.layout(k) {
			w.reach(w.reference(c.at + offset))
		}
	case dumpObjects:
		n := int(c.u4())
		c.skip(w.idSize)
		w.bytes += int64(n * w.idSize)
		for range n {
			w.reach(c.id())
		}
	case dumpValues:
		n := int(c.u4())
		w.bytes += int64(n * w.size(c.u1()))
	}
}

// layout returns the offsets of references in the instances of a class.
func (d *dump) layout(k *class) []int {
	if k.laid {
		return k.layout
	}
	k.laid = true
	at := 0
	for c, depth := k, 0; c != nil && depth < maxDepth; c, depth = d.classes[c.super], depth+1 {
		for _, f := range c.fields {
			if f.kind == typeObject {
				k.layout = append(k.layout, at)
			}
			at += d.size(f.kind)
		}
	}
	return k.layout
}
