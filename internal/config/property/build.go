// SPDX-License-Identifier: Apache-2.0

package property

import (
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// builder reflects a struct into a tree. Its errors are invalid declarations.
type builder struct {
	// overrides are the defaults that groups set for properties below them, by canonical full name.
	// The outermost group wins.
	overrides map[string]*override
	// envs detects two properties with the same environment variable.
	envs map[string]string
}

type override struct {
	value string
	used  bool
}

// flags are inherited from groups.
type flags struct{ mutable, global, hidden bool }

// New reflects the struct type typ, whose properties have names with the prefix name.
func New(name string, typ reflect.Type) (*Tree, error) {
	b := &builder{overrides: make(map[string]*override), envs: make(map[string]string)}
	root := &node{kind: kindGroup, typ: typ, name: name, segment: name, camel: name}
	if err := b.group(root, flags{}); err != nil {
		return nil, err
	}
	for name, o := range b.overrides {
		if !o.used {
			return nil, fmt.Errorf("reflect configuration: the default for %q belongs to no property", name)
		}
	}
	return &Tree{root: root}, nil
}

// group fills in the children of a group.
func (b *builder) group(n *node, inherited flags) error {
	n.byKey = make(map[string]*node)
	return b.fields(n, n.typ, nil, inherited)
}

// fields adds the fields of the struct typ, which is the group's own or one
// that it embeds at index, to the group.
func (b *builder) fields(n *node, typ reflect.Type, index []int, inherited flags) error {
	for i := range typ.NumField() {
		f := typ.Field(i)
		at := append(slices.Clone(index), i)
		if f.Anonymous && f.Type.Kind() == reflect.Struct {
			if !f.IsExported() {
				// Reflection could not call its Validate method.
				return fmt.Errorf("reflect configuration: %q: the embedded type %s must be exported", n.name, f.Type)
			}
			fl, err := b.groupTags(n.name, f, inherited)
			if err != nil {
				return err
			}
			n.embedded = append(n.embedded, at)
			if err := b.fields(n, f.Type, at, fl); err != nil {
				return err
			}
			continue
		}
		if !f.IsExported() {
			continue
		}
		c, err := b.field(n, f, inherited)
		if err != nil {
			return err
		}
		c.index = at
		n.byKey[canonical(c.segment)] = c
		n.children = append(n.children, c)
		n.secret = n.secret || c.secret
	}
	return nil
}

// groupTags reads the tags of a struct field that apply to everything below name.
func (b *builder) groupTags(name string, f reflect.StructField, inherited flags) (flags, error) {
	if list, ok := f.Tag.Lookup("defaults"); ok {
		for item := range strings.SplitSeq(list, ";") {
			key, value, found := strings.Cut(item, "=")
			if !found {
				return flags{}, fmt.Errorf("reflect configuration: defaults of %q: %q has no =", name, item)
			}
			key = canonical(joinName(name, key))
			if _, outer := b.overrides[key]; !outer {
				b.overrides[key] = &override{value: value}
			}
		}
	}
	return b.flags(name, f, inherited)
}

func (b *builder) flags(name string, f reflect.StructField, inherited flags) (flags, error) {
	fl := inherited
	for _, t := range [...]struct {
		tag    string
		target *bool
	}{{"mutable", &fl.mutable}, {"global", &fl.global}, {"hidden", &fl.hidden}} {
		if err := boolTag(f, t.tag, t.target); err != nil {
			return fl, fmt.Errorf("reflect configuration: %q: %w", name, err)
		}
	}
	return fl, nil
}

// field reflects one field of the group parent.
func (b *builder) field(parent *node, f reflect.StructField, inherited flags) (*node, error) {
	segment := f.Tag.Get("name")
	if segment == "" {
		segment = kebab(f.Name)
	}
	c := &node{typ: f.Type, name: joinName(parent.name, segment), segment: segment, camel: camel(segment)}
	c.jsonPath = joinName(parent.jsonPath, c.camel)
	if other, ok := parent.child(segment); ok {
		return nil, fmt.Errorf("reflect configuration: property %q is declared twice, also as %q", c.name, other.name)
	}
	fl, err := b.groupTags(c.name, f, inherited)
	if err != nil {
		return nil, err
	}
	c.prop.Doc = f.Tag.Get("doc")
	if f.Type.Kind() == reflect.Struct {
		c.kind = kindGroup
		return c, b.group(c, fl)
	}
	if err := b.leaf(c, f, fl); err != nil {
		return nil, fmt.Errorf("reflect configuration: %q: %w", c.name, err)
	}
	return c, nil
}

// leaf completes a node with a value.
func (b *builder) leaf(n *node, f reflect.StructField, fl flags) error {
	if err := readRules(&n.rules, f); err != nil {
		return err
	}
	typ, err := b.shape(n, fl)
	if err != nil {
		return err
	}
	var sensitive bool
	if err := boolTag(f, "sensitive", &sensitive); err != nil {
		return err
	}
	if sensitive && !n.secret {
		return fmt.Errorf("a sensitive property must have the type Secret, not %s", n.typ)
	}
	n.prop = Property{
		Name: n.name, JSONPath: n.jsonPath, Env: envName(n.name), Type: typ, Doc: n.prop.Doc,
		Options: n.rules.enum, Min: n.rules.min, Max: n.rules.max,
		Mutable: fl.mutable, Global: fl.global, Hidden: fl.hidden,
		// Of a list of structs only some fields may be sensitive.
		Sensitive: n.secret && typ != listOfObject,
	}
	if n.elem != nil {
		n.elem.prop.Mutable = fl.mutable
	}
	if other, ok := b.envs[n.prop.Env]; ok {
		return fmt.Errorf("the environment variable %s also belongs to %q", n.prop.Env, other)
	}
	b.envs[n.prop.Env] = n.name
	return b.fallback(n, f)
}

// listOfObject is the word for the type of a list of structs.
const listOfObject = "list of object"

// shape decides how a leaf takes values and returns the word for its type.
func (b *builder) shape(n *node, fl flags) (string, error) {
	switch n.typ.Kind() {
	case reflect.Slice:
		n.kind = kindList
		n.elem = &node{typ: n.typ.Elem(), name: n.name + "[?]", jsonPath: n.jsonPath + "[?]"}
		if n.typ.Elem().Kind() == reflect.Struct {
			n.elem.kind = kindGroup
			err := b.group(n.elem, fl)
			n.secret = n.elem.secret
			return listOfObject, err
		}
		return b.elements(n, "list of ")
	case reflect.Map:
		if n.typ.Key().Kind() != reflect.String || n.typ.Elem().Kind() != reflect.String {
			return "", fmt.Errorf("the type %s is not supported", n.typ)
		}
		n.kind = kindMap
		n.elem = &node{typ: n.typ.Elem(), name: n.name + ".?"}
		return b.elements(n, "map of ")
	}
	n.kind = kindScalar
	n.secret, n.url = n.typ == reflect.TypeFor[Secret](), n.typ == reflect.TypeFor[URL]()
	return scalarWord(n)
}

// elements completes the scalar elements of a list or map. Bounds and options
// are rules for each element, the others for the whole.
func (b *builder) elements(n *node, of string) (string, error) {
	n.elem.kind = kindScalar
	n.elem.rules = rules{min: n.rules.min, max: n.rules.max, enum: n.rules.enum, path: n.rules.path}
	n.elem.secret, n.elem.url = n.elem.typ == reflect.TypeFor[Secret](), n.elem.typ == reflect.TypeFor[URL]()
	n.secret = n.elem.secret
	word, err := scalarWord(n.elem)
	return of + word, err
}

// fallback converts the default of a leaf.
func (b *builder) fallback(n *node, f reflect.StructField) error {
	text, ok := f.Tag.Lookup("default")
	if o, overridden := b.overrides[canonical(n.name)]; overridden {
		text, ok, o.used = o.value, true, true
	}
	if ok {
		in := input{kind: inputText, text: text, flat: true}
		if n.kind == kindList && n.elem.kind == kindGroup {
			var err *Error
			if in, err = parseYAMLValue("default", []byte(text)); err != nil {
				return err
			}
		}
		p := &patch{node: n, name: n.name}
		if err := p.assign(in, assignment{}); err != nil {
			return err
		}
		if err := p.finish(); err != nil {
			return err
		}
		n.fallback = reflect.New(n.typ).Elem()
		p.apply(n.fallback, nil)
	}
	v := n.fallback
	if !v.IsValid() {
		v = reflect.Zero(n.typ)
	}
	if n.prop.Sensitive && n.kind == kindScalar {
		n.prop.Default = v.String() // A default is not secret: it is in the program.
	} else {
		n.prop.Default = n.printDefault(v)
	}
	return nil
}

// scalarWord names the type of a scalar and checks that it is supported.
func scalarWord(n *node) (string, error) {
	if n.rules.enum != nil {
		if n.typ.Kind() != reflect.String || n.secret {
			return "", fmt.Errorf("the type %s cannot be an enum", n.typ)
		}
		return "enum", nil
	}
	switch n.typ.Kind() {
	case reflect.Bool:
		return "boolean", nil
	case reflect.Int16:
		return "short", nil
	case reflect.Int32:
		return "int", nil
	case reflect.Int64:
		return "long", nil
	case reflect.Float32:
		return "float", nil
	case reflect.Float64:
		return "double", nil
	case reflect.String:
		return "string", nil
	}
	return "", fmt.Errorf("the type %s is not supported", n.typ)
}

// readRules reads the tags that restrict values.
func readRules(r *rules, f reflect.StructField) error {
	for _, t := range [...]struct {
		tag    string
		target **int64
	}{{"min", &r.min}, {"max", &r.max}, {"minlen", &r.minLen}, {"maxlen", &r.maxLen}} {
		text, ok := f.Tag.Lookup(t.tag)
		if !ok {
			continue
		}
		v, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			return fmt.Errorf("tag %s: %w", t.tag, err)
		}
		*t.target = &v
	}
	if list, ok := f.Tag.Lookup("enum"); ok {
		r.enum = strings.Split(list, ",")
	} else if o, ok := optionsOf(f.Type); ok {
		r.enum = o
	}
	if err := boolTag(f, "required", &r.required); err != nil {
		return err
	}
	return boolTag(f, "path", &r.path)
}

// boolTag overwrites target if the field has the tag.
func boolTag(f reflect.StructField, tag string, target *bool) error {
	text, ok := f.Tag.Lookup(tag)
	if !ok {
		return nil
	}
	v, err := strconv.ParseBool(text)
	if err != nil {
		return fmt.Errorf("tag %s: %w", tag, err)
	}
	*target = v
	return nil
}

// optionsOf returns the allowed values that a type, or that of its elements, supplies itself.
func optionsOf(t reflect.Type) ([]string, bool) {
	if t.Kind() == reflect.Slice {
		t = t.Elem()
	}
	o, ok := reflect.Zero(t).Interface().(interface{ Options() []string })
	if !ok {
		return nil, false
	}
	return o.Options(), true
}
