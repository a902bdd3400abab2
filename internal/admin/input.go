// SPDX-License-Identifier: Apache-2.0

package admin

import (
	"fmt"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"sync"

	"github.com/danielgtaylor/huma/v2"
	"github.com/go-json-experiment/json/jsontext"

	"example.org/app/internal/apierr"
)

// input is the compiled input type of one operation: a struct with fields tagged `query:"name"` for
// query parameters and `header:"Name"` for request headers, and an optional field Body for the JSON
// body. A field Form is a multipart form instead. The fields of a field tagged `query:",inline"`
// are parameters, like those of an embedded struct.
//
// Tags of a query field: doc, example, default, required:"true", uniqueItems for sets,
// selector:"true" for what selects the records of a change (of a bool only true does), or
// selector:"all" if it can select all of them too: a bool by being true, a list by its absence,
// secret:"true" for what must not be logged, and the limits that huma knows (minimum, maxLength,
// enum …).
type input struct {
	params       []*param
	body         *shape
	bodyIndex    []int
	bodyRequired bool
	formIndex    []int   // nil if the input is no form
	paging       [][]int // the fields of type Paging and PageRequest
}

type param struct {
	*shape
	name        string
	header      bool // a header instead of a query parameter
	index       []int
	field       reflect.StructField
	required    bool
	selector    bool
	all         bool // a selector that can select all records
	secret      bool
	defaultText string
	hasDefault  bool
}

// inputs caches the compiled input types, most of which the interfaces of a process share.
var inputs struct {
	mu       sync.Mutex
	byType   map[reflect.Type]*input
	registry huma.Registry
}

// inputOf returns the compiled input type; it panics if the type is invalid.
func inputOf(t reflect.Type) *input {
	inputs.mu.Lock()
	defer inputs.mu.Unlock()
	if in := inputs.byType[t]; in != nil {
		return in
	}
	if inputs.byType == nil {
		inputs.byType, inputs.registry = map[reflect.Type]*input{}, huma.NewMapRegistry("#/", schemaName)
	}
	in := newInput(inputs.registry, t)
	inputs.byType[t] = in
	return in
}

func newInput(reg huma.Registry, t reflect.Type) *input {
	in := &input{}
	if t.Kind() != reflect.Struct {
		panic(fmt.Sprintf("admin: input type %s is not a struct", t))
	}
	in.addFields(reg, t, nil)
	return in
}

// inline is the query tag of a field whose own fields are parameters. Unlike an embedded field it
// can have the type of a type parameter.
const inline = ",inline"

// addFields adds the fields of a struct at an index of the input.
func (in *input) addFields(reg huma.Registry, t reflect.Type, at []int) {
	for _, f := range reflect.VisibleFields(t) {
		f.Index = append(slices.Clone(at), f.Index...)
		if f.Type == pagingType && f.Anonymous {
			in.paging = append(in.paging, f.Index)
		}
		if f.Anonymous || !f.IsExported() {
			continue
		}
		switch name := f.Tag.Get("query"); {
		case name == inline:
			in.addFields(reg, f.Type, f.Index)
		case name != "":
			in.params = append(in.params, newParam(reg, f, name))
		case f.Tag.Get("header") != "":
			p := newParam(reg, f, f.Tag.Get("header"))
			p.header = true
			in.params = append(in.params, p)
		case f.Type == formFieldType:
			in.formIndex = f.Index
		case f.Name == "Body":
			in.body = shapeOf(reg, f.Type, rules{}, t.String()+".Body")
			in.bodyIndex = f.Index
			in.bodyRequired = f.Type.Kind() != reflect.Pointer
		}
	}
}

func newParam(reg huma.Registry, f reflect.StructField, name string) *param {
	def, hasDefault := f.Tag.Lookup("default")
	p := &param{
		shape: newShape(reg, f), name: name, index: f.Index,
		field:       f,
		required:    f.Tag.Get("required") == "true",
		selector:    f.Tag.Get("selector") != "",
		all:         f.Tag.Get("selector") == "all",
		secret:      f.Tag.Get("secret") == "true",
		defaultText: def, hasDefault: hasDefault,
	}
	return p
}

// schema describes the parameter.
func (p *param) schema(reg huma.Registry) *huma.Schema {
	s := huma.SchemaFromField(reg, p.field, p.field.Name)
	if p.kind == kindList {
		s.MaxItems = p.rules.maxItems
	}
	return s
}

// decodeParams sets the fields of dst from the query and from headers. selected is true if a
// selector was given.
func (in *input) decodeParams(q Query, h http.Header, dst reflect.Value) (selected bool, err error) {
	for _, p := range in.params {
		field := dst.FieldByIndex(p.index)
		given, err := p.decode(p.source(q, h), field)
		if err != nil {
			return false, illegal("parameter %q: %v", p.name, err)
		}
		selected = selected || given && p.selector && p.selects(field)
	}
	return selected, nil
}

// source returns the values of the parameter, or nil.
func (p *param) source(q Query, h http.Header) *queryParam {
	if !p.header {
		return q[p.name]
	}
	if v := h.Get(p.name); v != "" {
		return &queryParam{values: []string{v}}
	}
	return nil
}

// selects reports whether a selector's value selects anything: "all: false" does not.
func (p *param) selects(field reflect.Value) bool {
	return p.kind != kindBool || reflect.Indirect(field).Bool()
}

// decode sets the field of one parameter and reports whether the caller gave a value.
func (p *param) decode(q *queryParam, dst reflect.Value) (given bool, err error) {
	switch {
	case q == nil:
	case p.isObjects():
		given, err = p.decodeObjects(q, dst)
	case p.kind == kindList:
		given, err = p.decodeList(q, dst)
	default:
		given, err = p.decodeSingle(q, dst)
	}
	if err != nil || given {
		return given, err
	}
	if p.required {
		return false, fmt.Errorf("is required")
	}
	if p.hasDefault {
		return false, p.setText(dst, p.defaultText)
	}
	return false, nil
}

func (p *param) decodeSingle(q *queryParam, dst reflect.Value) (bool, error) {
	if len(q.objects) > 0 {
		return false, fmt.Errorf("does not consist of objects")
	}
	if len(q.values) > 1 {
		return false, fmt.Errorf("takes one value, but %d were given", len(q.values))
	}
	text := q.values[0]
	if err := p.setText(dst, text); err != nil {
		return false, err
	}
	return text != "" || p.kind == kindString, nil
}

func (p *param) decodeList(q *queryParam, dst reflect.Value) (bool, error) {
	if len(q.objects) > 0 {
		return false, fmt.Errorf("does not consist of objects")
	}
	list := reflect.MakeSlice(p.typ, 0, len(q.values))
	for _, value := range q.values {
		for text := range strings.SplitSeq(value, ",") {
			if text == "" && p.elem.kind != kindString && p.elem.kind != kindEnum {
				continue
			}
			e := reflect.New(p.typ.Elem()).Elem()
			if err := p.elem.setText(e, text); err != nil {
				return false, err
			}
			list = reflect.Append(list, e)
		}
	}
	if list.Len() == 0 {
		return false, nil
	}
	if err := p.rules.checkCount(list.Len()); err != nil {
		return false, err
	}
	dst.Set(list)
	p.dedupe(dst)
	return true, nil
}

// isObjects reports whether the parameter is a list of objects.
func (p *param) isObjects() bool { return p.kind == kindList && p.elem.kind == kindObject }

// decodeObjects decodes objects given field by field, or as JSON: an array, or one object.
// Generated clients and documentation pages send JSON.
func (p *param) decodeObjects(q *queryParam, dst reflect.Value) (bool, error) {
	if len(q.values) > 0 {
		return p.decodeJSON(q, dst)
	}
	list := reflect.MakeSlice(p.typ, 0, len(q.objects))
	for _, o := range q.objects {
		e := reflect.New(p.typ.Elem()).Elem()
		if err := p.elem.setFields(e, o); err != nil {
			return false, fmt.Errorf("element %d: %w", o.index, err)
		}
		list = reflect.Append(list, e)
	}
	if err := p.rules.checkCount(list.Len()); err != nil {
		return false, err
	}
	dst.Set(list)
	p.dedupe(dst)
	return true, nil
}

// decodeJSON reads objects from JSON texts.
func (p *param) decodeJSON(q *queryParam, dst reflect.Value) (bool, error) {
	if len(q.objects) > 0 {
		return false, fmt.Errorf("is given as JSON and as %s[0].field", p.name)
	}
	all := reflect.MakeSlice(p.typ, 0, 1)
	for _, text := range q.values {
		if text == "" {
			continue
		}
		raw := jsontext.Value(text)
		if kind := raw.Kind(); !raw.IsValid() || kind != '[' && kind != '{' {
			return false, fmt.Errorf("must be given as %s[0].field or as a JSON array of objects", p.name)
		}
		list := reflect.New(p.typ).Elem()
		if err := p.setJSON(list, raw, p.name, 0); err != nil {
			return false, fmt.Errorf("%s", apierr.From(err).Reason)
		}
		all = reflect.AppendSlice(all, list)
	}
	if all.Len() == 0 {
		return false, nil
	}
	if err := p.rules.checkCount(all.Len()); err != nil {
		return false, err
	}
	dst.Set(all)
	p.dedupe(dst)
	return true, nil
}

// setFields fills an object from the fields of a query.
func (s *shape) setFields(dst reflect.Value, o queryObject) error {
	seen := make([]bool, len(s.fields))
	for _, qf := range o.fields {
		i, ok := s.byName[qf.name]
		if !ok {
			return fmt.Errorf("there is no field %q", clip(qf.name))
		}
		if seen[i] {
			return fmt.Errorf("field %q is given twice", qf.name)
		}
		seen[i] = true
		f := s.fields[i]
		if err := f.setText(dst.FieldByIndex(f.index), qf.value); err != nil {
			return fmt.Errorf("field %q: %w", qf.name, err)
		}
	}
	for i, f := range s.fields {
		if f.required && !seen[i] {
			return fmt.Errorf("field %q is required", f.name)
		}
	}
	return nil
}
