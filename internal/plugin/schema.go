// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"math/big"
	"slices"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"
	"golang.org/x/text/language"
	"golang.org/x/text/message"

	"example.org/app/internal/apierr"
)

// A Schema is the JSON Schema of a plugin's settings. Objects with properties are groups of
// settings; everything else is one setting, which is changed as a whole. A Schema is immutable.
type Schema struct {
	text     string
	document map[string]any
	compiled *jsonschema.Schema
	root     *group
	settings []*Setting
}

// A Setting is one setting of a plugin.
type Setting struct {
	// Path are the names of the groups and of the setting.
	Path        []string
	Description string
	// Type is boolean, integer, number, string, array or object; "" means several of them.
	Type string
	// Items is the type of the elements of an array; "" means several, or unknown.
	Items string
	// Options are the possible values, if all of them are strings.
	Options []string
	// Minimum and Maximum are limits of an integer.
	Minimum, Maximum *int64
	// Default is the default value, if HasDefault is true.
	Default    any
	HasDefault bool
	// Sensitive is true if its value, or a part of it, must not be shown.
	Sensitive  bool
	Deprecated bool

	schema *jsonschema.Schema
}

// A group is an object whose properties are groups and settings.
type group struct {
	groups   map[string]*group
	settings map[string]*Setting
}

// Mask replaces a sensitive value.
const Mask = "***"

const (
	// maxSchema is the maximum length of a schema.
	maxSchema = 64 << 10
	// maxSettings is the maximum number of settings of a plugin.
	maxSettings = 1000
	// maxGroups bounds the nesting of groups, and the length of a chain of references.
	maxGroups = 8
	// schemaURL is the base of the schema's references.
	schemaURL = "plugin:///settings.json"
	// passwordFormat marks a secret, as in OpenAPI.
	passwordFormat = "password"
)

// noSchemas refuses references to external schemas.
type noSchemas struct{}

// Load implements jsonschema.URLLoader.
func (noSchemas) Load(url string) (any, error) {
	return nil, fmt.Errorf("%s is outside of the schema, which must be complete in itself", url)
}

// NewSchema parses a schema. Errors are sentences for the author of the plugin.
func NewSchema(text []byte) (*Schema, error) {
	document, compiled, err := compileSchema(text)
	if err != nil {
		return nil, err
	}
	s := &Schema{text: string(text), document: document, compiled: compiled}
	root := referred(compiled)
	if !isGroup(root) {
		return nil, errors.New("the schema must be that of an object with properties, each of which is a setting")
	}
	if s.root, err = s.add(root, nil, defaultOf(compiled)); err != nil {
		return nil, err
	}
	return s, nil
}

// compileSchema compiles a self-contained schema.
func compileSchema(text []byte) (document map[string]any, compiled *jsonschema.Schema, err error) {
	if len(text) > maxSchema {
		return nil, nil, fmt.Errorf("the schema has %d bytes, more than %d", len(text), maxSchema)
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		return nil, nil, fmt.Errorf("the schema is not JSON: %w", err)
	}
	document, ok := doc.(map[string]any)
	if !ok {
		return nil, nil, errors.New("the schema must be an object")
	}
	c := jsonschema.NewCompiler()
	c.DefaultDraft(jsonschema.Draft2020)
	c.UseLoader(noSchemas{})
	c.RegisterFormat(&jsonschema.Format{Name: passwordFormat, Validate: func(any) error { return nil }})
	c.AssertFormat()
	if err := c.AddResource(schemaURL, document); err != nil {
		return nil, nil, fmt.Errorf("the schema is not valid: %w", err)
	}
	if compiled, err = c.Compile(schemaURL); err != nil {
		return nil, nil, badSchema(err)
	}
	return document, compiled, nil
}

// badSchema explains why a schema is not valid.
func badSchema(err error) error {
	if e, ok := errors.AsType[*jsonschema.SchemaValidationError](err); ok {
		if v, ok := errors.AsType[*jsonschema.ValidationError](e.Err); ok {
			at, text := deepest(v)
			return fmt.Errorf("the schema is not valid: /%s: %s", strings.Join(at.InstanceLocation, "/"), text)
		}
		err = e.Err
	}
	return fmt.Errorf("the schema is not valid: %s", strings.ReplaceAll(err.Error(), schemaURL, ""))
}

// referred follows references.
func referred(s *jsonschema.Schema) *jsonschema.Schema {
	for n := 0; s.Ref != nil && len(s.Properties) == 0 && n < maxGroups; n++ {
		s = s.Ref
	}
	return s
}

// isGroup reports whether the properties of an object are settings.
func isGroup(s *jsonschema.Schema) bool {
	_, more := s.AdditionalProperties.(*jsonschema.Schema)
	return len(s.Properties) > 0 && len(s.PatternProperties) == 0 && !more && (s.Types == nil || slices.Equal(s.Types.ToStrings(), []string{"object"}))
}

// defaultOf returns the default of a group, which contains defaults of its members.
func defaultOf(s *jsonschema.Schema) map[string]any {
	if s.Default == nil {
		return nil
	}
	m, _ := (*s.Default).(map[string]any)
	return m
}

// add adds the group at a path.
func (s *Schema) add(of *jsonschema.Schema, path []string, defaults map[string]any) (*group, error) {
	g := &group{groups: map[string]*group{}, settings: map[string]*Setting{}}
	for _, name := range slices.Sorted(maps.Keys(of.Properties)) {
		at := append(slices.Clone(path), name)
		if name == "" || strings.ContainsAny(name, ".,") {
			return nil, fmt.Errorf("%s: the name of a setting must not be empty and must have no dot and no comma", strings.Join(at, "."))
		}
		declared := of.Properties[name]
		inner := referred(declared)
		if isGroup(inner) && len(at) < maxGroups {
			from := defaultOf(declared)
			if from == nil {
				from = defaultOf(inner)
			}
			if from == nil {
				from, _ = defaults[name].(map[string]any)
			}
			child, err := s.add(inner, at, from)
			if err != nil {
				return nil, err
			}
			g.groups[name] = child
			continue
		}
		leaf, err := newSetting(declared, at, defaults)
		if err != nil {
			return nil, err
		}
		if s.settings = append(s.settings, leaf); len(s.settings) > maxSettings {
			return nil, fmt.Errorf("there are more than %d settings", maxSettings)
		}
		g.settings[name] = leaf
	}
	return g, nil
}

func newSetting(declared *jsonschema.Schema, path []string, defaults map[string]any) (*Setting, error) {
	inner := referred(declared)
	x := &Setting{
		Path: path, Description: declared.Description, Type: typeOf(inner), schema: declared,
		Minimum: whole(inner.Minimum), Maximum: whole(inner.Maximum), Deprecated: declared.Deprecated || inner.Deprecated,
		Sensitive: hasSecret(declared, map[*jsonschema.Schema]bool{}),
	}
	for _, text := range []string{declared.Title, inner.Description, inner.Title} {
		if x.Description == "" {
			x.Description = text
		}
	}
	if inner.Enum != nil {
		x.Options = texts(inner.Enum.Values)
	}
	for _, items := range []any{inner.Items2020, inner.Items} {
		if of, ok := items.(*jsonschema.Schema); ok && of != nil {
			x.Items = typeOf(referred(of))
		}
	}
	for _, d := range []*any{declared.Default, inner.Default} {
		if d != nil && !x.HasDefault {
			x.Default, x.HasDefault = *d, true
		}
	}
	if d, ok := defaults[path[len(path)-1]]; ok && !x.HasDefault {
		x.Default, x.HasDefault = d, true
	}
	name := strings.Join(path, ".")
	if x.HasDefault && x.Sensitive {
		return nil, fmt.Errorf("%s: a secret must have no default: everybody who has the plugin would know it", name)
	}
	if x.HasDefault {
		if err := declared.Validate(x.Default); err != nil {
			return nil, fmt.Errorf("%s: the default is not valid: %s", name, violation(err, nil))
		}
	}
	return x, nil
}

// typeOf returns the only type of a schema, or "" if there are several.
func typeOf(s *jsonschema.Schema) string {
	if s.Types != nil {
		if list := s.Types.ToStrings(); len(list) == 1 {
			return list[0]
		}
		return ""
	}
	if s.Enum != nil && texts(s.Enum.Values) != nil {
		return "string"
	}
	return ""
}

// texts returns the values of an enumeration of strings, or nil if one is no string.
func texts(values []any) []string {
	list := make([]string, 0, len(values))
	for _, v := range values {
		s, ok := v.(string)
		if !ok {
			return nil
		}
		list = append(list, s)
	}
	return list
}

// whole returns an integer limit; nil means none.
func whole(r *big.Rat) *int64 {
	if r == nil || !r.IsInt() || !r.Num().IsInt64() {
		return nil
	}
	n := r.Num().Int64()
	return &n
}

// hasSecret reports whether a value of a schema is or contains a secret.
func hasSecret(s *jsonschema.Schema, seen map[*jsonschema.Schema]bool) bool {
	if s == nil || seen[s] {
		return false
	}
	seen[s] = true
	if s.WriteOnly || s.Format != nil && s.Format.Name == passwordFormat {
		return true
	}
	inside := slices.Concat([]*jsonschema.Schema{s.Ref, s.If, s.Then, s.Else, s.Items2020, s.Contains, s.UnevaluatedItems, s.UnevaluatedProperties}, s.AllOf, s.AnyOf, s.OneOf, s.PrefixItems)
	for _, p := range s.Properties {
		inside = append(inside, p)
	}
	for _, p := range s.PatternProperties {
		inside = append(inside, p)
	}
	for _, p := range s.DependentSchemas {
		inside = append(inside, p)
	}
	for _, p := range []any{s.AdditionalProperties, s.AdditionalItems, s.Items} {
		switch p := p.(type) {
		case *jsonschema.Schema:
			inside = append(inside, p)
		case []*jsonschema.Schema:
			inside = append(inside, p...)
		}
	}
	return slices.ContainsFunc(inside, func(x *jsonschema.Schema) bool { return hasSecret(x, seen) })
}

// String returns the JSON text of the schema.
func (s *Schema) String() string { return s.text }

// Document returns the decoded schema, read only.
func (s *Schema) Document() map[string]any { return s.document }

// Settings returns the settings ordered by path.
func (s *Schema) Settings() []*Setting { return s.settings }

// Value finds the value of a setting in nested maps.
func (x *Setting) Value(values map[string]any) (any, bool) {
	for _, name := range x.Path[:len(x.Path)-1] {
		values, _ = values[name].(map[string]any)
	}
	v, ok := values[x.Path[len(x.Path)-1]]
	return v, ok
}

// put sets the value of a setting in nested maps.
func (x *Setting) put(values map[string]any, v any) {
	for _, name := range x.Path[:len(x.Path)-1] {
		inner, ok := values[name].(map[string]any)
		if !ok {
			inner = map[string]any{}
			values[name] = inner
		}
		values = inner
	}
	values[x.Path[len(x.Path)-1]] = v
}

// Effective returns the effective values: those set, and the defaults of the others. Values without
// setting, for instance after a change of the schema, are omitted. The caller owns the result.
func (s *Schema) Effective(set map[string]any) map[string]any {
	values := map[string]any{}
	for _, x := range s.settings {
		if v, ok := x.Value(set); ok {
			x.put(values, cloneJSON(v))
		} else if x.HasDefault {
			x.put(values, cloneJSON(x.Default))
		}
	}
	return values
}

// Check validates effective values. The error names the path of the setting and contains no secret.
func (s *Schema) Check(effective map[string]any) error {
	if err := s.compiled.Validate(effective); err != nil {
		return errors.New(violation(err, s.settings))
	}
	return nil
}

// Merge merges a change into the values set before: groups are merged, settings replaced, and null
// removes a value, unless null is a valid value. Errors name the path.
func (s *Schema) Merge(set, change map[string]any) (map[string]any, error) {
	merged, _ := cloneJSON(set).(map[string]any)
	if merged == nil {
		merged = map[string]any{}
	}
	return merged, s.root.merge(merged, change, nil)
}

func (g *group) merge(into, change map[string]any, path []string) error {
	for _, name := range slices.Sorted(maps.Keys(change)) {
		at, v := append(slices.Clone(path), name), change[name]
		where := strings.Join(at, ".")
		if inner := g.groups[name]; inner != nil {
			values, ok := v.(map[string]any)
			if !ok {
				return fmt.Errorf("%s: must be an object", where)
			}
			below, _ := into[name].(map[string]any)
			if below == nil {
				below = map[string]any{}
			}
			if err := inner.merge(below, values, at); err != nil {
				return err
			}
			if into[name] = below; len(below) == 0 {
				delete(into, name)
			}
			continue
		}
		x := g.settings[name]
		switch {
		case x == nil:
			known := slices.Sorted(maps.Keys(g.settings))
			known = append(known, slices.Sorted(maps.Keys(g.groups))...)
			return fmt.Errorf("%s: unknown setting; there are: %s", where, strings.Join(known, ", "))
		case x.Sensitive && v == Mask:
			return fmt.Errorf("%s: must not be the mask that is shown instead of a sensitive value", where)
		case v == nil && x.schema.Validate(nil) != nil:
			delete(into, name)
		default:
			into[name] = cloneJSON(v)
		}
	}
	return nil
}

// cloneJSON copies a JSON value.
func cloneJSON(v any) any {
	switch v := v.(type) {
	case map[string]any:
		out := make(map[string]any, len(v))
		for k, x := range v {
			out[k] = cloneJSON(x)
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, x := range v {
			out[i] = cloneJSON(x)
		}
		return out
	}
	return v
}

// printer formats the texts of violations.
var printer = message.NewPrinter(language.English)

// deepest returns the first violation without a cause of its own, with its text.
func deepest(e *jsonschema.ValidationError) (*jsonschema.ValidationError, string) {
	for len(e.Causes) > 0 {
		e = e.Causes[0]
	}
	return e, e.ErrorKind.LocalizedString(printer)
}

// violation describes which value violates which rule. The texts of rules contain values, so those
// of secrets are omitted.
func violation(err error, settings []*Setting) string {
	v, ok := errors.AsType[*jsonschema.ValidationError](err)
	if !ok {
		return err.Error()
	}
	at, text := deepest(v)
	path := at.InstanceLocation
	if missing, ok := at.ErrorKind.(*kind.Required); ok && len(missing.Missing) > 0 {
		path, text = append(slices.Clone(path), missing.Missing[0]), "is required"
	}
	for _, x := range settings {
		if x.Sensitive && len(path) >= len(x.Path) && slices.Equal(path[:len(x.Path)], x.Path) && text != "is required" {
			path, text = x.Path, "the value breaks the rule "+strings.Join(at.ErrorKind.KeywordPath(), "/")
		}
	}
	if len(path) == 0 {
		if slices.ContainsFunc(settings, func(x *Setting) bool { return x.Sensitive }) {
			text = "the values break the rule " + strings.Join(at.ErrorKind.KeywordPath(), "/")
		}
		return text
	}
	return strings.Join(path, ".") + ": " + text
}

// SettingsOf returns the effective settings of a plugin, given the values set; nil if it has none.
// An error names the invalid one.
func SettingsOf(d Descriptor, set map[string]any) (map[string]any, error) {
	if d.Settings == nil {
		return nil, apierr.New(apierr.IllegalArgument, "the plugin declares no settings in its descriptor")
	}
	values := d.Settings.Effective(set)
	if err := d.Settings.Check(values); err != nil {
		return nil, apierr.New(apierr.IllegalArgument, "the settings of plugin %q are not valid: plugins.%s.%v", d.ID, d.ID, err)
	}
	return values, nil
}
