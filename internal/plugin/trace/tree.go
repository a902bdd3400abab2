// SPDX-License-Identifier: Apache-2.0

package trace

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// rules are the masking rules. Numbers, booleans, dates and the names of enums are always shown.
type rules struct {
	// text shows texts and bytes; otherwise their length is shown.
	text bool
	// secret hides everything.
	secret bool
	// plain shows a text in any case.
	plain bool
}

// secretNames are parts of the names of fields whose values are never shown.
var secretNames = []string{"password", "token", "secret", "credential", "authorization", "cookie", "signature", "apikey", "privatekey"}

// secretMessages are the messages of the protocol whose fields are never shown: responses of
// storages contain URLs that permit uploads and downloads.
var secretMessages = []string{"StringsWithVersion"}

// field returns the rules for a field of a type, entry those for an entry of a map.
func (r rules) field(name string) rules {
	r.plain = false
	r.secret = r.secret || isSecretField(name)
	return r
}

func (r rules) entry(name string) rules {
	r.plain = false
	r.secret = r.secret || isSecret(name)
	return r
}

// secretFields caches isSecret by field name. Its size is limited by the number of fields of all
// types.
var secretFields sync.Map

func isSecretField(name string) bool {
	if known, ok := secretFields.Load(name); ok {
		return known.(bool)
	}
	secret := isSecret(name)
	secretFields.Store(name, secret)
	return secret
}

// isSecret reports whether the values of a field with a name are never shown.
func isSecret(name string) bool {
	if strings.ContainsAny(name, "_-") {
		name = strings.ReplaceAll(strings.ReplaceAll(name, "_", ""), "-", "")
	}
	name = strings.ToLower(name)
	return slices.ContainsFunc(secretNames, func(s string) bool { return strings.Contains(name, s) })
}

// A node is a value as seen by plugins: a leaf, an object or a list.
type node struct {
	// value is the value of a leaf for comparisons.
	value  string
	fields []named
	items  []node
	kind   kind
	// form is the display format of a leaf.
	form form
}

type named struct {
	name string
	node node
}

type kind int

const (
	absent kind = iota
	leaf
	object
	list
)

// A form is the display format of a leaf. Most leaves are never displayed, so values are formatted
// lazily.
type form uint8

const (
	asIs form = iota
	hidden
	textLength
	bytesLength
	asBase64
)

// The limits of a tree.
const (
	maxDepth = 32
	maxShown = 256
	maxName  = 64
)

func (r rules) leaf(value string, f form) node {
	if r.secret {
		f = hidden
	}
	return node{kind: leaf, value: value, form: f}
}

func (r rules) textLeaf(s string) node {
	if r.text || r.plain {
		return r.leaf(s, asIs)
	}
	return r.leaf(s, textLength)
}

func (r rules) bytesLeaf(b []byte) node {
	if r.text {
		return r.leaf(string(b), asBase64)
	}
	return r.leaf(string(b), bytesLength)
}

// shown returns a leaf with its text.
func (n node) shown() string {
	switch n.form {
	case hidden:
		return "***"
	case textLength:
		return "text of " + strconv.Itoa(utf8.RuneCountInString(n.value)) + " characters"
	case bytesLength:
		return strconv.Itoa(len(n.value)) + " bytes"
	case asBase64:
		return clip(base64.StdEncoding.EncodeToString([]byte(n.value[:min(len(n.value), maxShown)])), maxShown)
	}
	return clip(n.value, maxShown)
}

var (
	timeType   = reflect.TypeFor[time.Time]()
	numberType = reflect.TypeFor[json.Number]()
)

// tree converts a value to the form that plugins see.
func (r rules) tree(v reflect.Value, depth int) node {
	if !v.IsValid() || depth > maxDepth {
		return node{}
	}
	if v.Kind() == reflect.Pointer && !v.IsNil() {
		if m, ok := v.Interface().(proto.Message); ok {
			return r.message(m.ProtoReflect(), depth)
		}
	}
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		if v.IsNil() {
			return node{}
		}
		return r.tree(v.Elem(), depth)
	case reflect.Struct:
		if v.Type() == timeType {
			text := v.Interface().(time.Time).UTC().Format(time.RFC3339Nano)
			return r.leaf(text, asIs)
		}
		return r.structure(v, depth)
	case reflect.Map:
		return r.mapping(v, depth)
	case reflect.Slice, reflect.Array:
		if v.Type().Elem().Kind() == reflect.Uint8 && v.Kind() == reflect.Slice {
			return r.bytesLeaf(v.Bytes())
		}
		n := node{kind: list}
		for i := range v.Len() {
			n.items = append(n.items, r.tree(v.Index(i), depth+1))
		}
		return n
	case reflect.String:
		if v.Type() == numberType {
			return r.leaf(v.String(), asIs)
		}
		return r.textLeaf(v.String())
	default:
		text := fmt.Sprint(v.Interface())
		return r.leaf(text, asIs)
	}
}

func (r rules) structure(v reflect.Value, depth int) node {
	n := node{kind: object}
	for i := range v.NumField() {
		f := v.Type().Field(i)
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		if !f.IsExported() || name == "-" || strings.Contains(options, "omitempty") && v.Field(i).IsZero() {
			continue
		}
		name = cmp.Or(name, f.Name)
		rules := r.field(name)
		rules.plain = f.Tag.Get("trace") == "plain"
		n.add(name, rules.tree(v.Field(i), depth+1))
	}
	return n
}

func (r rules) mapping(v reflect.Value, depth int) node {
	n := node{kind: object}
	for key, value := range v.Seq2() {
		name := fmt.Sprint(key.Interface())
		n.add(clip(name, maxName), r.entry(name).tree(value, depth+1))
	}
	slices.SortFunc(n.fields, func(a, b named) int { return cmp.Compare(a.name, b.name) })
	return n
}

// message converts a message of the protocol, with the names of its JSON mapping.
func (r rules) message(m protoreflect.Message, depth int) node {
	if depth > maxDepth || !m.IsValid() {
		return node{}
	}
	r.secret = r.secret || slices.Contains(secretMessages, string(m.Descriptor().Name()))
	n := node{kind: object}
	for f, v := range m.Range {
		rules := r.field(string(f.Name()))
		switch {
		case f.IsMap():
			entries := node{kind: object}
			for key, value := range v.Map().Range {
				entries.add(clip(key.String(), maxName), rules.entry(key.String()).scalar(f.MapValue(), value, depth+2))
			}
			slices.SortFunc(entries.fields, func(a, b named) int { return cmp.Compare(a.name, b.name) })
			n.add(f.JSONName(), entries)
		case f.IsList():
			items := node{kind: list}
			for i := range v.List().Len() {
				items.items = append(items.items, rules.scalar(f, v.List().Get(i), depth+2))
			}
			n.add(f.JSONName(), items)
		default:
			n.add(f.JSONName(), rules.scalar(f, v, depth+1))
		}
	}
	slices.SortFunc(n.fields, func(a, b named) int { return cmp.Compare(a.name, b.name) })
	return n
}

// scalar converts a value of a field that is neither a list nor a map.
func (r rules) scalar(f protoreflect.FieldDescriptor, v protoreflect.Value, depth int) node {
	switch f.Kind() {
	case protoreflect.MessageKind, protoreflect.GroupKind:
		return r.message(v.Message(), depth)
	case protoreflect.StringKind:
		return r.textLeaf(v.String())
	case protoreflect.BytesKind:
		return r.bytesLeaf(v.Bytes())
	case protoreflect.EnumKind:
		text := strconv.Itoa(int(v.Enum()))
		if d := f.Enum().Values().ByNumber(v.Enum()); d != nil {
			text = string(d.Name())
		}
		return r.leaf(text, asIs)
	}
	return r.leaf(v.String(), asIs)
}

// add adds a field. Absent and empty values are omitted, because plugins may omit them as well.
func (n *node) add(name string, field node) {
	if !field.empty() {
		n.fields = append(n.fields, named{name, field})
	}
}

func (n node) empty() bool {
	return n.kind == absent || n.kind == object && len(n.fields) == 0 || n.kind == list && len(n.items) == 0
}

// get returns a field.
func (n node) get(name string) node {
	for _, f := range n.fields {
		if f.name == name {
			return f.node
		}
	}
	return node{}
}

// equal compares values, not their texts.
func (n node) equal(other node) bool {
	return n.kind == other.kind && n.value == other.value && slices.EqualFunc(n.items, other.items, node.equal) &&
		slices.EqualFunc(n.fields, other.fields, func(a, b named) bool { return a.name == b.name && a.node.equal(b.node) })
}

// String formats the value, truncated if long.
func (n node) String() string {
	var b strings.Builder
	n.write(&b)
	return clip(b.String(), maxShown)
}

func (n node) write(b *strings.Builder) {
	if b.Len() > maxShown {
		return
	}
	switch n.kind {
	case leaf:
		b.WriteString(n.shown())
	case object:
		b.WriteByte('{')
		for i, f := range n.fields {
			if i > 0 {
				b.WriteString(", ")
			}
			b.WriteString(f.name + ": ")
			f.node.write(b)
		}
		b.WriteByte('}')
	case list:
		b.WriteByte('[')
		for i, item := range n.items {
			if i > 0 {
				b.WriteString(", ")
			}
			item.write(b)
		}
		b.WriteByte(']')
	case absent:
	}
}

// clip truncates a text after about limit bytes, at a character boundary.
func clip(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	for limit > 0 && !utf8.RuneStart(s[limit]) {
		limit--
	}
	return s[:limit] + "…"
}
