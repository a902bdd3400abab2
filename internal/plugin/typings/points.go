// SPDX-License-Identifier: Apache-2.0

package typings

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"example.org/app/internal/plugin"
)

// Points writes the types of extension points and all types that they refer to.
func Points(points []*plugin.Point) ([]byte, error) {
	g := &generator{structs: map[string]reflect.Type{}, wire: newWire()}
	w := &Writer{}
	w.WriteString(generated)
	w.Doc("What a function of an extension point answers, at once or as a promise. Nothing (undefined or null) is an answer as well.")
	w.Line("type Answer<T> = T | null | undefined | void | Promise<T | null | undefined | void>;\n")
	w.Doc("The names of the extension points.")
	var names []string
	for _, p := range points {
		names = append(names, fmt.Sprintf("'%s'", p.Name), fmt.Sprintf("'%s'", p.FullName()))
	}
	w.Line("type ExtensionPointName =\n  | %s;\n", strings.Join(names, "\n  | "))
	w.Doc("The extension points by their names.")
	w.Open("interface ExtensionPoints {")
	for _, p := range points {
		w.Line("%[1]s: %[1]s;", p.Name)
	}
	w.Close("}\n")
	for _, p := range points {
		if err := g.point(w, p); err != nil {
			return nil, err
		}
	}
	if _, err := g.typ(reflect.TypeFor[plugin.Notification]()); err != nil { // For app.notify.
		return nil, err
	}
	if err := g.writeStructs(w); err != nil {
		return nil, err
	}
	g.wire.write(w)
	return w.Bytes(), nil
}

// A generator collects the types in use.
type generator struct {
	structs map[string]reflect.Type
	wire    *wireTypes
}

func (g *generator) point(w *Writer, p *plugin.Point) error {
	var roles []string
	for _, r := range p.Roles {
		roles = append(roles, string(r))
	}
	where := "Called on: " + strings.Join(roles, ", ") + "."
	if p.Singleton {
		where += " Only one plugin may implement it."
	}
	w.Doc(p.Doc, where)
	w.Open("interface %s {", p.Name)
	for _, m := range p.Methods {
		lines := []string{m.Doc}
		var params []string
		for _, param := range m.Params {
			t, err := g.typ(param.Type)
			if err != nil {
				return fmt.Errorf("%s.%s: parameter %s: %w", p.Name, m.Name, param.Name, err)
			}
			if param.Optional {
				t += " | undefined"
			}
			params = append(params, param.Name+": "+t)
			lines = append(lines, "@param "+param.Name+" "+param.Doc)
		}
		result := "void"
		if m.Result != nil {
			var err error
			if result, err = g.typ(m.Result); err != nil {
				return fmt.Errorf("%s.%s: result: %w", p.Name, m.Name, err)
			}
		}
		w.Doc(append(lines, "@remarks "+Meaning(m))...)
		w.Line("%s?(%s): Answer<%s>;", m.Name, strings.Join(params, ", "), result)
	}
	for _, l := range p.Listeners {
		event, err := g.typ(l.Event)
		if err != nil {
			return fmt.Errorf("%s.%s: %w", p.Name, l.Name, err)
		}
		w.Doc(l.Doc, "@param listener Tells the server of an event.", "@remarks "+listening)
		w.Line("%s?(listener: (event: %s) => Promise<void>): Answer<void>;", l.Name, event)
	}
	w.Close("}\n")
	return nil
}

var (
	timeType    = reflect.TypeFor[time.Time]()
	enumType    = reflect.TypeFor[protoreflect.Enum]()
	messageType = reflect.TypeFor[proto.Message]()
)

// typ returns the TypeScript type of a Go type as seen by JavaScript.
func (g *generator) typ(t reflect.Type) (string, error) {
	switch {
	case t == timeType:
		return "Date", nil
	case t.Kind() != reflect.Pointer && t.Implements(enumType):
		return g.wire.enum(reflect.Zero(t).Interface().(protoreflect.Enum).Descriptor()), nil
	case t.Kind() == reflect.Pointer && t.Implements(messageType):
		return g.wire.message(reflect.New(t.Elem()).Interface().(proto.Message).ProtoReflect().Descriptor()), nil
	}
	switch t.Kind() {
	case reflect.Pointer:
		return g.typ(t.Elem())
	case reflect.Bool:
		return "boolean", nil
	case reflect.String:
		return "string", nil
	case reflect.Int64, reflect.Uint64, reflect.Int, reflect.Uint:
		return "Int64", nil
	case reflect.Int8, reflect.Int16, reflect.Int32, reflect.Uint16, reflect.Uint32, reflect.Float32, reflect.Float64:
		return "number", nil
	case reflect.Interface:
		return "JsonValue", nil
	case reflect.Slice:
		if t.Elem().Kind() == reflect.Uint8 {
			return "Base64", nil
		}
		of, err := g.typ(t.Elem())
		return list(of), err
	case reflect.Map:
		of, err := g.typ(t.Elem())
		return "{ [name: string]: " + of + " }", err
	case reflect.Struct:
		g.structs[t.Name()] = t
		return t.Name(), nil
	}
	return "", fmt.Errorf("%s has no counterpart in TypeScript", t)
}

// writeStructs writes the structs in use, and those that they refer to.
func (g *generator) writeStructs(w *Writer) error {
	written := map[string]bool{}
	for len(written) < len(g.structs) {
		var names []string
		for name := range g.structs {
			if !written[name] {
				names = append(names, name)
			}
		}
		slices.Sort(names)
		for _, name := range names {
			written[name] = true
			if err := g.writeStruct(w, g.structs[name]); err != nil {
				return err
			}
		}
	}
	return nil
}

func (g *generator) writeStruct(w *Writer, t reflect.Type) error {
	w.Open("interface %s {", t.Name())
	for i := range t.NumField() {
		f := t.Field(i)
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		of, err := g.typ(f.Type)
		if err != nil {
			return fmt.Errorf("%s.%s: %w", t.Name(), f.Name, err)
		}
		mark := ""
		if strings.Contains(options, "omitempty") {
			mark = "?"
		}
		w.Line("%s%s: %s;", property(name), mark, of)
	}
	w.Close("}\n")
	return nil
}
