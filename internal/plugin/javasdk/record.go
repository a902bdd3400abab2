// SPDX-License-Identifier: Apache-2.0

package javasdk

import (
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"reflect"
	"strings"
)

// extra are members of records that are written by hand: the shortcuts that authors of plugins
// expect.
//
//go:embed extra
var extra embed.FS

// minBuilder is the minimum number of components of a record with a builder.
const minBuilder = 5

// A component is a component of a record.
type component struct {
	name, typ, doc string
	// declared is the type in declarations, including nullness.
	declared string
	goType   reflect.Type
}

func (g *generator) components(f *file, t reflect.Type) ([]component, error) {
	var list []component
	for i := range t.NumField() {
		field := t.Field(i)
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		typ, err := g.typ(f, field.Type, false)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", field.Name, err)
		}
		doc := words(name)
		if said := without(g.docs[t.Name()+"."+field.Name], field.Name); said != "" {
			doc += ", " + strings.TrimSuffix(said, ".")
		}
		declared := typ
		if field.Type.Kind() == reflect.Pointer && strings.Contains(field.Tag.Get("json"), ",omitempty") {
			declared = f.nullable(typ)
			if !strings.Contains(doc, "null") {
				doc += "; may be null"
			}
		}
		list = append(list, component{name: name, typ: typ, declared: declared, doc: javadoc(doc), goType: field.Type})
	}
	return list, nil
}

// without removes the leading name from a Go comment and replaces nil by null.
func without(doc, name string) string {
	doc = strings.ReplaceAll(doc, "nil", "null")
	if rest, ok := strings.CutPrefix(doc, name+" "); ok {
		rest = strings.TrimPrefix(rest, "is ")
		return strings.TrimPrefix(rest, "are ")
	}
	return doc
}

// words splits a camel-case name into words.
func words(name string) string {
	var b strings.Builder
	for _, r := range name {
		if r >= 'A' && r <= 'Z' {
			b.WriteByte(' ')
			r += 'a' - 'A'
		}
		b.WriteRune(r)
	}
	return "the " + b.String()
}

// record writes the record of a struct.
func (g *generator) record(t reflect.Type) (*file, error) {
	f := newFile(modelPackage, t.Name())
	parts, err := g.components(f, t)
	if err != nil {
		return nil, err
	}
	lines := []string{javadoc(capital(without(g.docs[t.Name()], t.Name())))}
	var params []string
	for _, c := range parts {
		lines = append(lines, "@param "+c.name+" "+c.doc)
		params = append(params, c.declared+" "+c.name)
	}
	f.Doc(lines...)
	f.Open("public record %s(%s) {", t.Name(), strings.Join(params, ", "))
	f.writeDefaults(t.Name(), parts)
	if err := f.writeExtra(t.Name()); err != nil {
		return nil, err
	}
	if g.answered[t] && len(parts) > 1 {
		f.writeCopies(t.Name(), parts)
	}
	if len(parts) >= minBuilder {
		f.writeBuilder(t.Name(), parts)
	}
	f.Close("}")
	return f, nil
}

// empty returns the value of a component that was given as null but is never null, "" if there is
// none.
func (f *file) empty(c component) string {
	switch {
	case c.goType == timeType, isEnum(c.goType):
		return ""
	case c.goType.Kind() == reflect.String:
		return `""`
	case c.goType.Kind() == reflect.Map:
		return f.use("java.util", "Map") + ".of()"
	case c.typ == "byte[]":
		return "new byte[0]"
	case c.goType.Kind() == reflect.Slice:
		return f.use("java.util", "List") + ".of()"
	}
	return ""
}

// writeDefaults writes the constructor that replaces null in components that are never null.
func (f *file) writeDefaults(name string, parts []component) {
	var lines []string
	for _, c := range parts {
		if e := f.empty(c); e != "" {
			lines = append(lines, fmt.Sprintf("%s = %[1]s == null ? %s : %[1]s;", c.name, e))
		} else if c.goType == timeType || isEnum(c.goType) {
			lines = append(lines, fmt.Sprintf("%s.requireNonNull(%s, %q);", f.use("java.util", "Objects"), c.name, c.name+" must not be null"))
		}
	}
	if len(lines) == 0 {
		return
	}
	f.Doc("Lists, maps and texts that are null are empty.")
	f.Open("public %s {", name)
	for _, l := range lines {
		f.Line("%s", l)
	}
	f.Close("}")
}

// writeExtra writes the contents of the record's file in the folder extra.
func (f *file) writeExtra(name string) error {
	data, err := extra.ReadFile("extra/" + name + ".java.txt")
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	for line := range strings.Lines(string(data)) {
		if full, ok := strings.CutPrefix(line, "import "); ok {
			full = strings.TrimRight(full, ";\n")
			f.use(full[:strings.LastIndex(full, ".")], full[strings.LastIndex(full, ".")+1:])
			continue
		}
		if strings.TrimSpace(line) == "" {
			f.WriteByte('\n')
			continue
		}
		f.Line("%s", strings.TrimRight(line, "\n"))
	}
	return nil
}

// writeCopies writes a method for each component that returns a record with another value of it.
func (f *file) writeCopies(name string, parts []component) {
	var names []string
	for _, c := range parts {
		names = append(names, c.name)
	}
	for _, c := range parts {
		f.WriteByte('\n')
		f.Doc("Makes the same with another value.", "@param "+c.name+" "+c.doc, "@return the copy")
		f.Open("public %s with%s(%s %s) {", name, capital(c.name), c.declared, c.name)
		f.Line("return new %s(%s);", name, strings.Join(names, ", "))
		f.Close("}")
	}
}

// writeBuilder writes a builder, in which every component has a default.
func (f *file) writeBuilder(name string, parts []component) {
	f.WriteByte('\n')
	f.Doc("Begins a new one.", "@return a builder in which nothing is set")
	f.Open("public static Builder builder() {")
	f.Line("return new Builder();")
	f.Close("}\n")
	f.Doc("Makes one step by step. What is not set is null, empty, 0 or false, a date 1970.")
	f.Open("public static final class Builder {")
	var names []string
	for _, c := range parts {
		names = append(names, c.name)
		switch {
		case c.goType == timeType:
			f.Line("private %s %s = Instant.EPOCH;", c.typ, c.name)
		case isEnum(c.goType):
			f.Line("private %s %s = %[1]s.forNumber(0);", c.typ, c.name)
		default:
			f.Line("private %s %s;", c.declared, c.name)
		}
	}
	f.WriteByte('\n')
	f.Line("private Builder() {}")
	for _, c := range parts {
		f.WriteByte('\n')
		f.Doc("Sets one part.", "@param value "+c.doc, "@return this")
		f.Open("public Builder %s(%s value) {", c.name, c.declared)
		f.Line("%s = value;", c.name)
		f.Line("return this;")
		f.Close("}")
	}
	f.WriteByte('\n')
	f.Doc("Makes it.", "@return what was built")
	f.Open("public %s build() {", name)
	f.Line("return new %s(%s);", name, strings.Join(names, ", "))
	f.Close("}")
	f.Close("}")
}
