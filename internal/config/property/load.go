// SPDX-License-Identifier: Apache-2.0

package property

import (
	"errors"
	"io/fs"
	"os"
	"reflect"
	"strings"
)

// Inputs are the sources of a tree's values, each overriding those before it: the files, the
// environment, Set.
type Inputs struct {
	// Home replaces @HOME and is the base of relative paths. Empty means the working directory.
	Home string
	// Files are YAML files.
	Files []File
	// Environ has the form of os.Environ. Only names that begin with the root's are properties.
	Environ []string
	// Set holds items of the form "app.some.property=value".
	Set []string
	// Foreign receives the properties that are not in the tree; if nil, they are an error.
	Foreign *Foreign
}

// A File is a YAML file, which must exist unless it is optional.
type File struct {
	Path     string
	Optional bool
}

// Load sets and validates the struct that target points to. It returns the sources of the values
// that are not defaults, by property name. It returns only the first problem, as an *Error.
func (t *Tree) Load(target any, in Inputs) (map[string]Source, error) {
	sources := map[string]Source{}
	if err := t.load(valueOf(target), in, sources); err != nil {
		return nil, err
	}
	return sources, nil
}

func (t *Tree) load(v reflect.Value, in Inputs, sources map[string]Source) *Error {
	t.root.setDefaults(v)
	from := origins{last: make(map[string]sequenced)}
	take := func(p *patch, err *Error, source Source) *Error {
		if err != nil {
			return t.complete(err)
		}
		p.apply(v, func(name string, o origin, replaces bool) {
			from.record(name, o, replaces)
			sources[name] = source
		})
		return nil
	}
	for _, file := range in.Files {
		p, err := t.fromFile(file, in.Foreign)
		if err := take(p, err, SourceFile); err != nil {
			return err
		}
	}
	p, err := t.fromEnvironment(in.Environ)
	if err := take(p, err, SourceEnvironment); err != nil {
		return err
	}
	p, err = t.fromSet(in.Set, in.Foreign)
	if err := take(p, err, SourceFlag); err != nil {
		return err
	}
	t.root.resolvePaths(v, in.Home)
	if err := t.validate(v); err != nil {
		err.Source = from.of(err.Property)
		return err
	}
	return nil
}

// newPatch returns an empty patch of the whole tree.
func (t *Tree) newPatch() *patch { return &patch{node: t.root, name: t.root.name} }

// complete adds the nearest known name to the error of an unknown one.
func (t *Tree) complete(err *Error) *Error {
	if err != nil && err.Rule == unknownRule && err.Suggestion == "" {
		err.Suggestion = t.suggest(err.Property)
	}
	return err
}

// fromFile reads a file.
func (t *Tree) fromFile(f File, other *Foreign) (*patch, *Error) {
	data, err := os.ReadFile(f.Path)
	if f.Optional && errors.Is(err, fs.ErrNotExist) {
		return t.newPatch(), nil
	}
	if err != nil {
		reason := err
		var pathErr *fs.PathError
		if errors.As(err, &pathErr) {
			reason = pathErr.Err
		}
		return nil, &Error{Source: f.Path, Rule: "cannot read the configuration file: " + reason.Error(), err: err}
	}
	return t.fromYAML(f.Path, data, other)
}

// fromYAML reads the content of a file.
func (t *Tree) fromYAML(file string, data []byte, other *Foreign) (*patch, *Error) {
	in, err := parseYAMLValue(file, data)
	if err != nil {
		return nil, err
	}
	root := t.newPatch()
	switch in.kind {
	case inputNull:
		return root, nil
	case inputMapping:
	default:
		return nil, &Error{Source: in.origin.String(), Rule: "a configuration file must hold a group of properties, not " + in.kind.String()}
	}
	for _, f := range in.fields {
		if err := t.putNamed(root, f.key, f.value, other); err != nil {
			return nil, err
		}
	}
	return root, root.finish()
}

// fromSet reads the items of flags.
func (t *Tree) fromSet(items []string, other *Foreign) (*patch, *Error) {
	root := t.newPatch()
	from := origin{source: "--set"}
	for _, item := range items {
		name, value, ok := strings.Cut(item, "=")
		if !ok {
			// What follows the name may be a secret after a wrong separator.
			if end := strings.IndexFunc(name, notNameRune); end >= 0 {
				name = name[:end]
			}
			return nil, &Error{Source: from.String(), Property: name, Rule: "must have the form property=value"}
		}
		in := input{kind: inputText, text: value, flat: true, origin: from}
		if err := t.putNamed(root, strings.TrimSpace(name), in, other); err != nil {
			return nil, err
		}
	}
	return root, root.finish()
}

// notNameRune reports whether a rune cannot occur in the name of a property.
func notNameRune(r rune) bool {
	letter := r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9'
	return !letter && !strings.ContainsRune(".-[]", r)
}

// putNamed assigns to a name that begins with the root's, and passes others to other, which may be
// nil.
func (t *Tree) putNamed(root *patch, name string, in input, other *Foreign) *Error {
	if other.takes(t, name) {
		return other.put(name, in)
	}
	first, rest, dotted := strings.Cut(name, ".")
	if canonical(first) != t.root.name {
		return &Error{Source: in.origin.String(), Property: name, Rule: unknownRule}
	}
	a := assignment{written: first}
	if dotted {
		return root.put(rest, in, a)
	}
	return root.assign(in, a)
}

// origins records the sources of values by property name.
type origins struct {
	last  map[string]sequenced
	count int
}

// sequenced is an origin with the order in which it came.
type sequenced struct {
	origin
	order int
}

// record records the source of a property's value. What it replaces as a whole is dropped.
func (o *origins) record(name string, from origin, replaces bool) {
	if replaces {
		for other := range o.last {
			if isBelow(other, name) {
				delete(o.last, other)
			}
		}
	}
	o.last[name] = sequenced{from, o.count}
	o.count++
}

// of returns the source of an invalid value. If that is a default, it returns the source of what
// was last set near it.
func (o *origins) of(name string) string {
	for ; name != ""; name = parentName(name) {
		if s, ok := o.last[name]; ok {
			return s.String()
		}
		last, found := sequenced{order: -1}, false
		for other, s := range o.last {
			if isBelow(other, name) && s.order > last.order {
				last, found = s, true
			}
		}
		if found {
			return last.String()
		}
	}
	return ""
}

// isBelow reports whether a name is part of the group or list.
func isBelow(name, group string) bool {
	rest, ok := strings.CutPrefix(name, group)
	return ok && rest != "" && (rest[0] == '.' || rest[0] == '[')
}

// parentName removes the last segment or position.
func parentName(name string) string {
	return name[:max(0, strings.LastIndexAny(name, ".["))]
}
