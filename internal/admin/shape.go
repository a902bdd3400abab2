// SPDX-License-Identifier: Apache-2.0

package admin

import (
	"encoding/base64"
	"fmt"
	"math"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/danielgtaylor/huma/v2"
)

// shape is a Go type compiled for reading input: how to convert text or JSON to it, with the limits
// of the value. The limits are those of the schema in the OpenAPI document, so that the two cannot
// differ.
type shape struct {
	kind    kind
	typ     reflect.Type
	pointer bool // nil means absent
	rules   rules
	elem    *shape         // list, dictionary
	fields  []*fieldShape  // object
	byName  map[string]int // object: position in fields
}

type fieldShape struct {
	*shape
	name     string
	index    []int
	required bool
	secret   bool
}

type kind int

const (
	kindInvalid kind = iota
	kindInt
	kindFloat
	kindBool
	kindString
	kindEnum
	kindDate
	kindBytes
	kindAny
	kindList
	kindDictionary
	kindObject
)

var dateType = reflect.TypeFor[Date]()

// rules are the limits that a schema declares.
type rules struct {
	minimum, maximum     *float64
	minLength, maxLength *int
	minItems, maxItems   *int
	pattern              *regexp.Regexp
	patternText          string
	noSpace              bool
	enum                 []string
	positions            []string // the names that numbers refer to
	unique               bool
}

// maxListItems is the default limit of lists: a statement with more keys takes seconds.
const maxListItems = 10_000

// noSpacePattern is the pattern of names and passwords.
const noSpacePattern = `^\S*$`

// PositionsKey is the schema extension with all names of an enum of which only some are allowed:
// numbers are positions in it.
const PositionsKey = "x-positions"

func newRules(s *huma.Schema) rules {
	r := rules{
		minimum: s.Minimum, maximum: s.Maximum,
		minItems: s.MinItems, maxItems: s.MaxItems,
		unique: s.UniqueItems,
	}
	leaf := s
	if s.Type == huma.TypeArray && s.Items != nil {
		leaf = s.Items
		r.minimum, r.maximum = leaf.Minimum, leaf.Maximum
	}
	r.minLength, r.maxLength = leaf.MinLength, leaf.MaxLength
	if leaf.Pattern == noSpacePattern {
		// Go's \s is ASCII only; other readers of the schema include all white space.
		r.noSpace = true
	} else if leaf.Pattern != "" {
		r.pattern = regexp.MustCompile(leaf.Pattern)
		r.patternText = leaf.PatternDescription
		if r.patternText == "" {
			r.patternText = "match " + leaf.Pattern
		}
	}
	for _, e := range leaf.Enum {
		r.enum = append(r.enum, fmt.Sprint(e))
	}
	r.positions = r.enum
	if all, ok := leaf.Extensions[PositionsKey].([]string); ok {
		r.positions = all
	}
	return r
}

// newShape compiles the type of one field. It panics on an unsupported type, which every start and
// test would show.
func newShape(reg huma.Registry, f reflect.StructField) *shape {
	schema := huma.SchemaFromField(reg, f, f.Name)
	return shapeOf(reg, f.Type, newRules(schema), f.Name)
}

func shapeOf(reg huma.Registry, t reflect.Type, r rules, where string) *shape {
	s := &shape{typ: t, rules: r}
	if t.Kind() == reflect.Pointer {
		s.pointer = true
		t = t.Elem()
		s.typ = t
	}
	switch {
	case t == dateType:
		s.kind = kindDate
	case t.Kind() == reflect.Interface:
		s.kind = kindAny
	case t.Kind() == reflect.Slice && t.Elem().Kind() == reflect.Uint8:
		s.kind = kindBytes
	case t.Kind() == reflect.Slice:
		s.kind = kindList
		if s.rules.maxItems == nil {
			most := maxListItems
			s.rules.maxItems = &most
		}
		s.elem = shapeOf(reg, t.Elem(), r, where)
	case t.Kind() == reflect.Map:
		s.kind = kindDictionary
		s.elem = shapeOf(reg, t.Elem(), rules{}, where)
	case t.Kind() == reflect.Struct:
		s.kind = kindObject
		s.compileFields(reg, t)
	case t.Kind() == reflect.Int16 || t.Kind() == reflect.Int32 || t.Kind() == reflect.Int64:
		s.kind = kindInt
	case t.Kind() == reflect.Float32 || t.Kind() == reflect.Float64:
		s.kind = kindFloat
	case t.Kind() == reflect.Bool:
		s.kind = kindBool
	case t.Kind() == reflect.String && len(r.enum) > 0:
		s.kind = kindEnum
	case t.Kind() == reflect.String:
		s.kind = kindString
	default:
		panic(fmt.Sprintf("admin: input field %s has the unsupported type %s", where, t))
	}
	return s
}

func (s *shape) compileFields(reg huma.Registry, t reflect.Type) {
	s.byName = map[string]int{}
	for _, f := range reflect.VisibleFields(t) {
		tag := f.Tag.Get("json")
		if f.Anonymous || !f.IsExported() || tag == "-" {
			continue
		}
		name, options, _ := strings.Cut(tag, ",")
		if name == "" {
			panic(fmt.Sprintf("admin: field %s.%s has no json name", t, f.Name))
		}
		s.byName[name] = len(s.fields)
		s.fields = append(s.fields, &fieldShape{
			shape: newShape(reg, f), name: name, index: f.Index,
			required: !strings.Contains(options, "omitempty") && !strings.Contains(options, "omitzero"),
			secret:   f.Tag.Get("secret") == "true",
		})
	}
}

// target returns the value to set in dst, allocating it if it is a pointer.
func (s *shape) target(dst reflect.Value) reflect.Value {
	if !s.pointer {
		return dst
	}
	dst.Set(reflect.New(s.typ))
	return dst.Elem()
}

// setText parses a query value into dst. An empty text for anything but a string or an enum means
// absent, and leaves dst unchanged.
func (s *shape) setText(dst reflect.Value, text string) error {
	if text == "" && s.kind != kindString && s.kind != kindEnum {
		return nil
	}
	v := s.target(dst)
	switch s.kind {
	case kindInt:
		return s.setInt(v, text)
	case kindFloat:
		return s.setFloat(v, text)
	case kindBool:
		switch text {
		case "true", "True", "TRUE":
			v.SetBool(true)
		case "false", "False", "FALSE":
			v.SetBool(false)
		default:
			return fmt.Errorf("%q must be true or false", clip(text))
		}
	case kindEnum:
		return s.setEnum(v, text)
	case kindString:
		return s.setString(v, text)
	case kindDate:
		d, err := ParseDate(text)
		if err != nil {
			return err
		}
		v.Set(reflect.ValueOf(d))
	case kindBytes:
		b, err := base64.StdEncoding.DecodeString(text)
		if err != nil {
			return fmt.Errorf("%q must be Base64", clip(text))
		}
		v.SetBytes(b)
	default:
		return fmt.Errorf("%q cannot be given as text", clip(text))
	}
	return nil
}

func (s *shape) setInt(v reflect.Value, text string) error {
	n, err := strconv.ParseInt(text, 10, v.Type().Bits())
	if err != nil {
		return fmt.Errorf("%q must be an integer of %d bits", clip(text), v.Type().Bits())
	}
	if err := s.rules.checkNumber(float64(n)); err != nil {
		return fmt.Errorf("%d %w", n, err)
	}
	v.SetInt(n)
	return nil
}

func (s *shape) setFloat(v reflect.Value, text string) error {
	f, err := strconv.ParseFloat(text, v.Type().Bits())
	if err != nil || math.IsInf(f, 0) || math.IsNaN(f) {
		return fmt.Errorf("%q must be a number", clip(text))
	}
	if err := s.rules.checkNumber(f); err != nil {
		return fmt.Errorf("%v %w", f, err)
	}
	v.SetFloat(f)
	return nil
}

func (s *shape) setEnum(v reflect.Value, text string) error {
	if !slices.Contains(s.rules.enum, text) {
		return fmt.Errorf("%q must be one of %s", clip(text), enumeration(s.rules.enum))
	}
	v.SetString(text)
	return nil
}

func (s *shape) setString(v reflect.Value, text string) error {
	if err := s.rules.checkString(text); err != nil {
		return err
	}
	v.SetString(text)
	return nil
}

// enumeration lists names for an error, up to a limit.
func enumeration(names []string) string {
	const most = 12
	if len(names) > most {
		return strings.Join(names[:most], ", ") + fmt.Sprintf(" and %d more", len(names)-most)
	}
	return strings.Join(names, ", ")
}

func (r rules) checkNumber(n float64) error {
	if r.minimum != nil && n < *r.minimum {
		return fmt.Errorf("must be at least %v", *r.minimum)
	}
	if r.maximum != nil && n > *r.maximum {
		return fmt.Errorf("must be at most %v", *r.maximum)
	}
	return nil
}

// checkString does not include the text in errors, because it may be a password.
func (r rules) checkString(text string) error {
	if r.minLength != nil && *r.minLength > 0 || r.maxLength != nil {
		n := utf8.RuneCountInString(text)
		if r.minLength != nil && n < *r.minLength {
			return fmt.Errorf("must have at least %d characters", *r.minLength)
		}
		if r.maxLength != nil && n > *r.maxLength {
			return fmt.Errorf("must have at most %d characters, but has %d", *r.maxLength, n)
		}
	}
	if r.noSpace && strings.ContainsFunc(text, unicode.IsSpace) {
		return fmt.Errorf("must not contain white space")
	}
	if r.pattern != nil && !r.pattern.MatchString(text) {
		return fmt.Errorf("must %s", r.patternText)
	}
	if strings.ContainsRune(text, 0) {
		return fmt.Errorf("must not contain the character U+0000")
	}
	return nil
}

func (r rules) checkCount(n int) error {
	if r.minItems != nil && n < *r.minItems {
		return fmt.Errorf("must have at least %d elements", *r.minItems)
	}
	if r.maxItems != nil && n > *r.maxItems {
		return fmt.Errorf("must have at most %d elements, but has %d", *r.maxItems, n)
	}
	return nil
}

// dedupe removes duplicates from a set, keeping the first of each.
func (s *shape) dedupe(list reflect.Value) {
	if !s.rules.unique || list.Len() < 2 || !list.Type().Elem().Comparable() {
		return
	}
	seen := make(map[any]bool, list.Len())
	n := 0
	for i := range list.Len() {
		e := list.Index(i)
		if seen[e.Interface()] {
			continue
		}
		seen[e.Interface()] = true
		list.Index(n).Set(e)
		n++
	}
	list.SetLen(n)
}
