// SPDX-License-Identifier: Apache-2.0

package classfile

import (
	"bytes"
	"encoding/binary"
	"reflect"
	"strings"
	"testing"
)

// builder builds class files.
type builder struct {
	pool  bytes.Buffer
	count int
}

func (b *builder) add(kind byte, data []byte) uint16 {
	b.pool.WriteByte(kind)
	b.pool.Write(data)
	b.count++
	return uint16(b.count)
}

func (b *builder) text(s string) uint16 {
	return b.add(constUTF8, append(binary.BigEndian.AppendUint16(nil, uint16(len(s))), s...))
}

func (b *builder) class(name string) uint16 {
	return b.add(constClass, binary.BigEndian.AppendUint16(nil, b.text(name)))
}

func sample() []byte {
	b := &builder{}
	this, super, iface := b.class("p/Sample"), b.class("p/Base"), b.class("q/Point")
	b.class("[[Lq/Item;")
	b.class("[I")
	b.add(5, make([]byte, 8))
	b.count++
	b.add(constNameAndType, binary.BigEndian.AppendUint16(binary.BigEndian.AppendUint16(nil, b.text("call")), b.text("(ILq/Arg;[Lq/Other;)Lq/Result;")))
	field, fieldType := b.text("LLL"), b.text("Lq/Field;")
	method, methodType, code := b.text("handle"), b.text("(Lq/Arg;)V"), b.text("Code")
	out := []byte{0xCA, 0xFE, 0xBA, 0xBE, 0, 0, 0, 65}
	u2 := func(values ...uint16) {
		for _, v := range values {
			out = binary.BigEndian.AppendUint16(out, v)
		}
	}
	u2(uint16(b.count + 1))
	out = append(out, b.pool.Bytes()...)
	u2(flagPublic|flagAbstract, this, super, 1, iface, 1, 2, field, fieldType, 0, 1, flagPublic|flagSynthetic, method, methodType, 1, code, 0, 3)
	out = append(out, 1, 2, 3)
	u2(0)
	return out
}

func TestParse(t *testing.T) {
	c, err := Parse(sample())
	if err != nil {
		t.Fatal(err)
	}
	want := &Class{
		Major: 65, Name: "p/Sample", Super: "p/Base", Interfaces: []string{"q/Point"}, Abstract: true, Public: true,
		Fields:     []Field{{Name: "LLL", Descriptor: "Lq/Field;"}},
		Methods:    []Method{{Name: "handle", Descriptor: "(Lq/Arg;)V", Public: true, Synthetic: true}},
		References: []string{"p/Base", "q/Arg", "q/Field", "q/Item", "q/Other", "q/Point", "q/Result"},
	}
	if !reflect.DeepEqual(c, want) {
		t.Errorf("read was %+v", c)
	}
	if Java(c.Major) != 21 {
		t.Errorf("65 is Java %d", Java(c.Major))
	}
}

func TestParseRefuses(t *testing.T) {
	whole := sample()
	for n := range len(whole) {
		if _, err := Parse(whole[:n]); err == nil {
			t.Fatalf("%d of %d bytes are a class", n, len(whole))
		}
	}
	bad := bytes.Replace(whole, []byte{constClass, 0, 1}, []byte{99, 0, 1}, 1)
	if _, err := Parse(bad); err == nil || !strings.Contains(err.Error(), "unknown kind 99") {
		t.Errorf("the error is %v", err)
	}
}

func FuzzParse(f *testing.F) {
	f.Add(sample())
	f.Fuzz(func(_ *testing.T, data []byte) { _, _ = Parse(data) })
}
