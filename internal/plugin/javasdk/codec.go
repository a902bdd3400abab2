// SPDX-License-Identifier: Apache-2.0

package javasdk

import (
	"fmt"
	"reflect"
	"strings"
)

// codecName returns a type's part of the names of its codec functions.
func codecName(t reflect.Type) string {
	if isEnum(t) || isMessage(t) {
		return strings.ReplaceAll(protoNameOf(t), ".", "")
	}
	return t.Name()
}

// read returns an expression that reads a value of a type from a variable.
func read(t reflect.Type, in string) (string, error) {
	switch {
	case t == timeType:
		return in + ".instant()", nil
	case isMessage(t):
		return in + ".message(" + protoNameOf(t) + ".parser())", nil
	case isEnum(t):
		return "read" + codecName(t) + "(" + in + ")", nil
	case t == jsonType:
		return "Json.object(" + in + ".string())", nil
	}
	switch t.Kind() {
	case reflect.Pointer:
		of, err := read(t.Elem(), in)
		return in + ".optional() ? " + of + " : null", err
	case reflect.Bool:
		return in + ".bool()", nil
	case reflect.String:
		return in + ".string()", nil
	case reflect.Int64:
		return in + ".zigzag()", nil
	case reflect.Int32:
		return in + ".int32()", nil
	case reflect.Float32:
		return in + ".float32()", nil
	case reflect.Float64:
		return in + ".float64()", nil
	case reflect.Slice:
		if t.Elem().Kind() == reflect.Uint8 {
			return in + ".bytes()", nil
		}
		item := inner(in, "i")
		of, err := read(t.Elem(), item)
		return "list(" + in + ", " + item + " -> " + of + ")", err
	case reflect.Map:
		item := inner(in, "i")
		of, err := read(t.Elem(), item)
		return "map(" + in + ", " + item + " -> " + of + ")", err
	case reflect.Struct:
		return "read" + t.Name() + "(" + in + ")", nil
	}
	return "", fmt.Errorf("%s cannot be read", t)
}

// write returns an expression that writes a value of a type to a variable.
func write(t reflect.Type, out, value string) (string, error) {
	switch {
	case t == timeType:
		return out + ".instant(" + value + ")", nil
	case isMessage(t):
		return out + ".message(" + value + ")", nil
	case isEnum(t):
		return "write" + codecName(t) + "(" + out + ", " + value + ")", nil
	case t == jsonType:
		return out + ".string(Json.write(" + value + "))", nil
	}
	switch t.Kind() {
	case reflect.Pointer:
		return nested("optional", t.Elem(), out, value)
	case reflect.Bool:
		return out + ".bool(" + value + ")", nil
	case reflect.String:
		return out + ".string(" + value + ")", nil
	case reflect.Int64:
		return out + ".zigzag(" + value + ")", nil
	case reflect.Int32:
		return out + ".int32(" + value + ")", nil
	case reflect.Float32:
		return out + ".float32(" + value + ")", nil
	case reflect.Float64:
		return out + ".float64(" + value + ")", nil
	case reflect.Slice:
		if t.Elem().Kind() == reflect.Uint8 {
			return out + ".bytes(" + value + ")", nil
		}
		return nested("list", t.Elem(), out, value)
	case reflect.Map:
		return nested("map", t.Elem(), out, value)
	case reflect.Struct:
		return "write" + t.Name() + "(" + out + ", " + value + ")", nil
	}
	return "", fmt.Errorf("%s cannot be written", t)
}

// inner returns the name of the variable of a nested function, which must differ from the outer
// one.
func inner(outer, first string) string {
	if strings.Trim(outer, first) == "" {
		return outer + first
	}
	return first
}

// nested returns a call of a function that writes the contents of another value.
func nested(function string, of reflect.Type, out, value string) (string, error) {
	o := inner(out, "o")
	v := strings.Repeat("v", len(o))
	item, err := write(of, o, v)
	return fmt.Sprintf("%s(%s, %s, (%s, %s) -> %s)", function, out, value, o, v, item), err
}

// codecs writes the class with the codecs of all types on the pipes.
func (g *generator) codecs() (*file, error) {
	f := newFile(generatedPackage, "Codecs")
	f.use(wirePackage, "In")
	f.use(wirePackage, "Out")
	f.use(basePackage+".json", "Json")
	f.Doc("Reads and writes what extension points get and answer. Null is written as what is empty where the server knows no null.")
	f.Open("final class Codecs {")
	f.Line("private Codecs() {}\n")
	if err := f.writeExtra("Codecs"); err != nil {
		return nil, err
	}
	for _, t := range g.enums {
		name := f.use(protoPackage, protoNameOf(t))
		f.WriteByte('\n')
		f.Open("static %s read%s(In in) {", name, codecName(t))
		f.Line("%s value = %[1]s.forNumber(in.int32());", name)
		f.Line("return value == null ? %s.UNRECOGNIZED : value;", name)
		f.Close("}\n")
		f.Open("static void write%s(Out out, %s value) {", codecName(t), name)
		f.Line("out.int32(value.getNumber());")
		f.Close("}")
	}
	for _, t := range g.messages {
		f.use(protoPackage, protoNameOf(t))
	}
	for _, t := range g.structs {
		if err := g.codec(f, t); err != nil {
			return nil, fmt.Errorf("%s: %w", t.Name(), err)
		}
	}
	f.Close("}")
	return f, nil
}

func (g *generator) codec(f *file, t reflect.Type) error {
	name := f.use(modelPackage, t.Name())
	var reads, writes []string
	for i := range t.NumField() {
		r, err := read(t.Field(i).Type, "in")
		if err != nil {
			return err
		}
		tag, _, _ := strings.Cut(t.Field(i).Tag.Get("json"), ",")
		w, err := write(t.Field(i).Type, "out", "value."+tag+"()")
		if err != nil {
			return err
		}
		reads, writes = append(reads, r), append(writes, w)
	}
	f.WriteByte('\n')
	f.Open("static %s read%[1]s(In in) {", name)
	f.Line("return new %s(\n            %s);", name, strings.Join(reads, ",\n            "))
	f.Close("}\n")
	f.Open("static void write%s(Out out, %[1]s value) {", name)
	for _, w := range writes {
		f.Line("%s;", w)
	}
	f.Close("}")
	return nil
}
