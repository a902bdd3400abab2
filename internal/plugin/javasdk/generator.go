// SPDX-License-Identifier: Apache-2.0

package javasdk

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"reflect"
	"strings"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"example.org/app/internal/plugin"
)

var (
	timeType    = reflect.TypeFor[time.Time]()
	enumType    = reflect.TypeFor[protoreflect.Enum]()
	messageType = reflect.TypeFor[proto.Message]()
	jsonType    = reflect.TypeFor[map[string]any]()
)

func isEnum(t reflect.Type) bool    { return t.Kind() != reflect.Pointer && t.Implements(enumType) }
func isMessage(t reflect.Type) bool { return t.Kind() == reflect.Pointer && t.Implements(messageType) }

// A generator contains the types that the extension points refer to.
type generator struct {
	points  []*plugin.Point
	structs []reflect.Type
	// messages and enums are those of the protocol, in the order of first use.
	messages, enums []reflect.Type
	// answered are the structs that plugins create.
	answered map[reflect.Type]bool
	docs     map[string]string
}

func newGenerator(points []*plugin.Point) (*generator, error) {
	g := &generator{points: points, answered: map[reflect.Type]bool{}}
	seen, protocol := map[reflect.Type]bool{}, map[reflect.Type]bool{}
	meet := func(t reflect.Type) {
		g.structs = append(g.structs, structsIn(t, seen)...)
		g.protocolIn(t, protocol)
	}
	for _, m := range methodsOf(points) {
		for _, p := range m.Params {
			meet(p.Type)
		}
		if m.Result != nil {
			meet(m.Result)
			structsIn(m.Result, g.answered)
		}
	}
	meet(reflect.TypeFor[plugin.Notification]())
	var err error
	g.docs, err = comments(plugin.Declarations)
	return g, err
}

// protocolIn collects the messages and enums of the protocol that a type refers to.
func (g *generator) protocolIn(t reflect.Type, seen map[reflect.Type]bool) {
	if t == timeType || seen[t] {
		return
	}
	seen[t] = true
	switch {
	case isMessage(t):
		g.messages = append(g.messages, t)
		return
	case isEnum(t):
		g.enums = append(g.enums, t)
		return
	}
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Map:
		g.protocolIn(t.Elem(), seen)
	case reflect.Struct:
		for i := range t.NumField() {
			g.protocolIn(t.Field(i).Type, seen)
		}
	}
}

// comments returns the comments of the types in a Go source, and those of their fields as
// Type.Field.
func comments(source string) (map[string]string, error) {
	parsed, err := parser.ParseFile(token.NewFileSet(), "types.go", source, parser.ParseComments)
	if err != nil {
		return nil, fmt.Errorf("read the declarations: %w", err)
	}
	docs := map[string]string{}
	for _, d := range parsed.Decls {
		decl, ok := d.(*ast.GenDecl)
		if !ok {
			continue
		}
		for _, s := range decl.Specs {
			spec, ok := s.(*ast.TypeSpec)
			if !ok {
				continue
			}
			docs[spec.Name.Name] = flat(decl.Doc.Text())
			if fields, ok := spec.Type.(*ast.StructType); ok {
				for _, f := range fields.Fields.List {
					for _, name := range f.Names {
						docs[spec.Name.Name+"."+name.Name] = flat(f.Doc.Text())
					}
				}
			}
		}
	}
	return docs, nil
}

func flat(text string) string { return strings.Join(strings.Fields(text), " ") }

// protoName returns the name of the Java class of a message or enum; a nested one has both names.
func protoName(d protoreflect.Descriptor) string {
	if outer, ok := d.Parent().(protoreflect.MessageDescriptor); ok {
		return protoName(outer) + "." + string(d.Name())
	}
	return string(d.Name())
}

func protoNameOf(t reflect.Type) string {
	if isEnum(t) {
		return protoName(reflect.Zero(t).Interface().(protoreflect.Enum).Descriptor())
	}
	return protoName(reflect.New(t.Elem()).Interface().(proto.Message).ProtoReflect().Descriptor())
}

// typ returns the Java type of a Go type; a boxed one can be null.
func (g *generator) typ(f *file, t reflect.Type, boxed bool) (string, error) {
	either := func(primitive, object string) (string, error) {
		if boxed {
			return object, nil
		}
		return primitive, nil
	}
	switch {
	case t == timeType:
		return f.use("java.time", "Instant"), nil
	case isEnum(t), isMessage(t):
		return f.use(protoPackage, protoNameOf(t)), nil
	case t == jsonType:
		return f.use("java.util", "Map") + "<String, " + f.nullable("Object") + ">", nil
	}
	switch t.Kind() {
	case reflect.Pointer:
		return g.typ(f, t.Elem(), true)
	case reflect.Bool:
		return either("boolean", "Boolean")
	case reflect.String:
		return "String", nil
	case reflect.Int64:
		return either("long", "Long")
	case reflect.Int32:
		return either("int", "Integer")
	case reflect.Float32:
		return either("float", "Float")
	case reflect.Float64:
		return either("double", "Double")
	case reflect.Slice:
		if t.Elem().Kind() == reflect.Uint8 {
			return "byte[]", nil
		}
		of, err := g.typ(f, t.Elem(), true)
		return f.use("java.util", "List") + "<" + of + ">", err
	case reflect.Map:
		if t.Key().Kind() != reflect.String {
			break
		}
		of, err := g.typ(f, t.Elem(), true)
		return f.use("java.util", "Map") + "<String, " + of + ">", err
	case reflect.Struct:
		return f.use(modelPackage, t.Name()), nil
	}
	return "", fmt.Errorf("%s has no counterpart in Java", t)
}
