// SPDX-License-Identifier: Apache-2.0

// Package classfile parses the declarations in Java class files: version, names, superclass and
// interfaces, fields and methods, and referenced classes. It neither parses code nor verifies
// anything.
package classfile

import (
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// A Class is the contents of a class file. Names are as in class files, with slashes.
type Class struct {
	// Major is the major version of the format: 65 is that of Java 21.
	Major int
	Name  string
	// Super is empty only for java/lang/Object and for modules.
	Super      string
	Interfaces []string
	Interface  bool
	Abstract   bool
	Public     bool
	Final      bool
	// Synthetic is true if the compiler generated the class, which has no name in a source.
	Synthetic bool
	// Enclosed is true for anonymous and local classes.
	Enclosed  bool
	Signature string
	// Deprecated is true if the class or member has the annotation of this name.
	Deprecated bool
	// Record is true for records.
	Record  bool
	Fields  []Field
	Methods []Method
	// References are the other classes that it refers to, sorted.
	References []string
}

// A Method is a method of a class.
type Method struct {
	Name, Descriptor         string
	Public, Static, Abstract bool
	Protected, Final         bool
	// Synthetic is true if the compiler generated the method, such as a bridge.
	Synthetic bool
	// Signature is the generic signature; empty if there is none.
	Signature  string
	Deprecated bool
}

// A Field is a field of a class.
type Field struct {
	Name, Descriptor                 string
	Public, Protected, Static, Final bool
	Synthetic                        bool
	Signature                        string
	Deprecated                       bool
	// Constant is the value that compilers inline into the users of the field; empty if there is
	// none.
	Constant string
}

// Java returns the version of Java of a major version of the format.
func Java(major int) int { return major - 44 }

const (
	flagPublic    = 0x0001
	flagProtected = 0x0004
	flagStatic    = 0x0008
	flagFinal     = 0x0010
	flagInterface = 0x0200
	flagAbstract  = 0x0400
	flagSynthetic = 0x1000
)

// The kinds of constants.
const (
	constUTF8        = 1
	constClass       = 7
	constString      = 8
	constNameAndType = 12
	constMethodType  = 16
)

// sizes are the sizes in bytes of constants with a fixed size, by kind.
var sizes = map[byte]int{3: 4, 4: 4, 5: 8, 6: 8, constClass: 2, constString: 2, 9: 4, 10: 4, 11: 4, constNameAndType: 4, 15: 3, constMethodType: 2, 17: 4, 18: 4, 19: 2, 20: 2}

var errShort = errors.New("the class file ends too early")

// reader reads numbers; beyond the end it returns zeros and sets a flag.
type reader struct {
	data  []byte
	at    int
	short bool
}

func (r *reader) take(n int) []byte {
	if n < 0 || n > len(r.data)-r.at {
		r.short = true
		return make([]byte, min(max(n, 0), 8))
	}
	r.at += n
	return r.data[r.at-n : r.at]
}

func (r *reader) u1() byte { return r.take(1)[0] }
func (r *reader) u2() int  { return int(binary.BigEndian.Uint16(r.take(2))) }
func (r *reader) u4() int  { return int(binary.BigEndian.Uint32(r.take(4))) }

// pool is the constant pool.
type pool struct {
	kinds []byte
	// values are the texts of UTF-8 constants, and the bytes of other constants.
	values [][]byte
}

func readPool(r *reader) (*pool, error) {
	n := r.u2()
	p := &pool{kinds: make([]byte, n), values: make([][]byte, n)}
	for i := 1; i < n && !r.short; i++ {
		kind := r.u1()
		p.kinds[i] = kind
		if kind == constUTF8 {
			p.values[i] = r.take(r.u2())
			continue
		}
		size, ok := sizes[kind]
		if !ok && !r.short {
			return nil, fmt.Errorf("the class file has a constant of the unknown kind %d", kind)
		}
		p.values[i] = r.take(size)
		if kind == 5 || kind == 6 {
			i++ // 64-bit numbers take two entries.
		}
	}
	return p, nil
}

func (p *pool) text(i int) string {
	if i <= 0 || i >= len(p.kinds) || p.kinds[i] != constUTF8 {
		return ""
	}
	return string(p.values[i])
}

func (p *pool) class(i int) string {
	if i <= 0 || i >= len(p.kinds) || p.kinds[i] != constClass {
		return ""
	}
	return p.text(int(binary.BigEndian.Uint16(p.values[i])))
}

// Parse parses a class file.
func Parse(data []byte) (*Class, error) {
	r := &reader{data: data}
	if r.u4() != 0xCAFEBABE {
		return nil, errors.New("it is not a class file")
	}
	r.u2() // The minor version.
	c := &Class{Major: r.u2()}
	p, err := readPool(r)
	if err != nil {
		return nil, err
	}
	flags := r.u2()
	c.Interface, c.Abstract, c.Public = flags&flagInterface != 0, flags&flagAbstract != 0, flags&flagPublic != 0
	c.Final, c.Synthetic = flags&flagFinal != 0, flags&flagSynthetic != 0
	c.Name, c.Super = p.class(r.u2()), p.class(r.u2())
	for range r.u2() {
		c.Interfaces = append(c.Interfaces, p.class(r.u2()))
	}
	refs := map[string]bool{}
	for range members(r) {
		flags, name, descriptor := r.u2(), p.text(r.u2()), p.text(r.u2())
		a := readAttributes(r, p)
		c.Fields = append(c.Fields, Field{
			Name: name, Descriptor: descriptor, Public: flags&flagPublic != 0, Protected: flags&flagProtected != 0, Static: flags&flagStatic != 0,
			Final: flags&flagFinal != 0, Synthetic: flags&flagSynthetic != 0, Signature: a.signature, Deprecated: a.deprecated, Constant: a.constant,
		})
		addDescriptor(refs, descriptor)
	}
	for range members(r) {
		flags, name, descriptor := r.u2(), p.text(r.u2()), p.text(r.u2())
		a := readAttributes(r, p)
		c.Methods = append(c.Methods, Method{
			Name: name, Descriptor: descriptor, Public: flags&flagPublic != 0, Protected: flags&flagProtected != 0, Static: flags&flagStatic != 0,
			Abstract: flags&flagAbstract != 0, Final: flags&flagFinal != 0, Synthetic: flags&flagSynthetic != 0, Signature: a.signature, Deprecated: a.deprecated,
		})
		addDescriptor(refs, descriptor)
	}
	a := readAttributes(r, p)
	c.Signature, c.Deprecated, c.Record, c.Enclosed = a.signature, a.deprecated, a.record, a.enclosed
	if r.short {
		return nil, errShort
	}
	for i, kind := range p.kinds {
		switch kind {
		case constClass:
			addClass(refs, p.class(i))
		case constNameAndType:
			addDescriptor(refs, p.text(int(binary.BigEndian.Uint16(p.values[i][2:]))))
		case constMethodType:
			addDescriptor(refs, p.text(int(binary.BigEndian.Uint16(p.values[i]))))
		}
	}
	delete(refs, c.Name)
	c.References = slices.Sorted(maps.Keys(refs))
	return c, nil
}

// members reads the number of fields or methods; 0 at the end of the file.
func members(r *reader) int {
	n := r.u2()
	if n*8 > len(r.data)-r.at {
		r.short = true
		return 0
	}
	return n
}

// attributes are the known attributes of a class, a field or a method.
type attributes struct {
	signature, constant          string
	deprecated, record, enclosed bool
}

// readAttributes reads the known attributes, and skips the others.
func readAttributes(r *reader, p *pool) attributes {
	var a attributes
	for range r.u2() {
		name := p.text(r.u2())
		data := &reader{data: r.take(r.u4())}
		if r.short {
			break
		}
		switch name {
		case "Signature":
			a.signature = p.text(data.u2())
		case "ConstantValue":
			a.constant = p.constant(data.u2())
		case "Deprecated":
			a.deprecated = true
		case "Record":
			a.record = true
		case "EnclosingMethod":
			a.enclosed = true
		}
	}
	return a
}

// constant formats a constant: numbers as their bytes, texts quoted.
func (p *pool) constant(i int) string {
	if i <= 0 || i >= len(p.kinds) {
		return ""
	}
	if p.kinds[i] == constString {
		return strconv.Quote(p.text(int(binary.BigEndian.Uint16(p.values[i]))))
	}
	switch v := p.values[i]; p.kinds[i] {
	case 3:
		return strconv.Itoa(int(int32(binary.BigEndian.Uint32(v))))
	case 5:
		return strconv.FormatInt(int64(binary.BigEndian.Uint64(v)), 10)
	default:
		return hex.EncodeToString(v)
	}
}

// addClass adds a class, or the element class of an array.
func addClass(refs map[string]bool, name string) {
	if strings.HasPrefix(name, "[") {
		addDescriptor(refs, name)
	} else if name != "" {
		refs[name] = true
	}
}

// addDescriptor adds the classes in the descriptor of a field or method.
func addDescriptor(refs map[string]bool, descriptor string) {
	for {
		i := strings.IndexByte(descriptor, 'L')
		if i < 0 {
			return
		}
		end := strings.IndexByte(descriptor[i:], ';')
		if end < 0 {
			return
		}
		refs[descriptor[i+1:i+end]] = true
		descriptor = descriptor[i+end:]
	}
}
