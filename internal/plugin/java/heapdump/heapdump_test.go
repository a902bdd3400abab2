// SPDX-License-Identifier: Apache-2.0

package heapdump

import (
	"encoding/binary"
	"maps"
	"testing"
)

// A writer writes dumps like a JVM.
type writer struct{ file, heap []byte }

func (w *writer) record(tag byte, body []byte) {
	w.file = binary.BigEndian.AppendUint32(append(w.file, tag, 0, 0, 0, 0), uint32(len(body)))
	w.file = append(w.file, body...)
}

func ids(list ...uint64) (b []byte) {
	for _, id := range list {
		b = binary.BigEndian.AppendUint64(b, id)
	}
	return b
}

func u4(n int) []byte { return binary.BigEndian.AppendUint32(nil, uint32(n)) }

func join(parts ...[]byte) (b []byte) {
	for _, p := range parts {
		b = append(b, p...)
	}
	return b
}

// class writes a class with one static field, which may be 0, and instance fields by name.
func (w *writer) class(id uint64, name uint64, super, loader, static uint64, fields map[uint64]byte) {
	w.record(recordClass, join(u4(1), ids(id), u4(0), ids(name)))
	w.heap = append(w.heap, join([]byte{dumpClass}, ids(id), u4(0), ids(super, loader, 0, 0, 0, 0), u4(16), []byte{0, 0, 0, 1}, ids(99), []byte{typeObject}, ids(static), []byte{0, byte(len(fields))})...)
	for name, kind := range fields {
		w.heap = append(w.heap, join(ids(name), []byte{kind})...)
	}
}

func (w *writer) instance(id, class uint64, body []byte) {
	w.heap = append(w.heap, join([]byte{dumpInstance}, ids(id), u4(0), ids(class), u4(len(body)), body)...)
}

func (w *writer) bytes(id uint64, n int) {
	w.heap = append(w.heap, join([]byte{dumpValues}, ids(id), u4(0), u4(n), []byte{8}, make([]byte, n))...)
}

func (w *writer) root(tag byte, body []byte) { w.heap = append(append(w.heap, tag), body...) }

// sample returns a heap in which plugin 7 retains most, by a static field, plugin 8 something by a
// local variable of its thread, and the server something that a plugin uses, too.
func sample() []byte {
	w := &writer{file: join([]byte("JAVA PROFILE 1.0.2\x00"), u4(8), make([]byte, 8))}
	for id, name := range map[uint64]string{1: baseLoader, 2: loaderClass, 3: threadClass, 4: numberField, 5: parentField, 6: threadField, 7: "acme/Bad", 8: "acme/Good", 9: "a name that is longer than any which matters here"} {
		w.record(recordString, join(ids(id), []byte(name)))
	}
	w.class(101, 1, 0, 0, 0, map[uint64]byte{5: typeObject})
	w.class(102, 2, 101, 0, 0, map[uint64]byte{4: 10})
	w.class(103, 3, 0, 0, 0, map[uint64]byte{6: typeObject})
	w.class(104, 9, 0, 0, 303, nil)   // Of the server, with a static field.
	w.class(107, 7, 0, 207, 301, nil) // Of plugin 7.
	w.class(108, 8, 0, 209, 303, nil) // Of a loader that plugin 8 created.
	w.instance(207, 102, join(u4(7), ids(0)))
	w.instance(208, 102, join(u4(8), ids(0)))
	w.instance(209, 101, ids(208))
	w.instance(210, 103, ids(208)) // A thread of plugin 8.
	w.heap = append(w.heap, join([]byte{dumpObjects}, ids(301), u4(0), u4(2), ids(110, 302, 0))...)
	w.bytes(302, 1_000_000)
	w.bytes(303, 2000)
	w.bytes(304, 50_000)
	w.root(rootClass, ids(104))
	w.root(rootThread, join(ids(210), u4(5), u4(0)))
	w.root(rootFrame, join(ids(304), u4(5), u4(0)))
	w.root(rootGlobal, ids(303, 0))
	w.root(rootNative, join(ids(0), u4(6)))
	w.record(recordSegment, w.heap)
	w.record(0x2c, nil)
	return w.file
}

// TestRead checks the owners of the sample's memory.
func TestRead(t *testing.T) {
	h, err := Read(sample())
	if err != nil {
		t.Fatal(err)
	}
	want := map[int]int64{
		7: classSize + headSize + 12 + headSize + 16 + headSize + 1_000_000,
		8: classSize + 2*headSize + 12 + 8 + headSize + 8 + headSize + 50_000,
	}
	if !maps.Equal(h.Plugins, want) {
		t.Errorf("the plugins hold %v, want %v", h.Plugins, want)
	}
	if want := want[7] + want[8] + 4*classSize + headSize + 2000; h.Total != want {
		t.Errorf("all is %d, want %d", h.Total, want)
	}
	if n, held, ok := h.Largest(); n != 7 || held != want[7] || !ok {
		t.Errorf("the largest holder is %d, %d, %v", n, held, ok)
	}
	for _, none := range []Holding{{}, {Total: 100, Plugins: map[int]int64{1: 40, 2: 40}}, {Total: 100, Plugins: map[int]int64{1: 20}}} {
		if n, _, ok := none.Largest(); ok {
			t.Errorf("the largest holder of %v is %d", none, n)
		}
	}
}

// FuzzRead reads invalid files.
func FuzzRead(f *testing.F) {
	good := sample()
	f.Add(good)
	f.Add(good[:len(good)/2])
	f.Add([]byte{})
	f.Fuzz(func(_ *testing.T, data []byte) { _, _ = Read(data) })
}
