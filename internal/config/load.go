// SPDX-License-Identifier: Apache-2.0

package config

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"strings"
)

// Options say where a configuration comes from. Each source overrides those
// before it: the defaults, the file, the environment, Set.
type Options struct {
	// Home replaces @HOME and is where relative paths begin. Empty is the
	// working directory.
	Home string
	// File is a YAML file. Empty is config/application.yaml below Home, which
	// need not exist. What SaveLatest wrote is read after it.
	File string
	// Environ has the form of os.Environ. Only names that begin with APP_ are
	// properties, except APP_HOME and what begins with APP_TEST_.
	Environ []string
	// Set holds items of the form "app.some.property=value".
	Set []string

	// foreign takes the properties that are not of the server; nil refuses them.
	foreign *foreign
}

// Load reads all sources and validates the result. It reports only the first
// problem, as an *Error.
func Load(opts Options) (*Config, error) {
	opts.foreign = newForeign(opts.Environ)
	c := &Config{home: opts.Home, resolved: true, sources: make(map[string]Source), foreign: opts.foreign}
	if err := configTree().load(c.value(), opts, c.sources); err != nil {
		return nil, err
	}
	return c, nil
}

// load fills v, which is a struct of the tree's type, and notes where values
// came from in sources.
func (t *tree) load(v reflect.Value, opts Options, sources map[string]Source) *Error {
	t.setDefaults(v)
	from := origins{last: make(map[string]sequenced)}
	for _, step := range []struct {
		source Source
		read   func() (*patch, *Error)
	}{
		{SourceFile, func() (*patch, *Error) { return t.fromFile(opts.Home, opts.File, opts.foreign) }},
		{SourceFile, func() (*patch, *Error) { return t.fromOptionalFile(latestFile(opts.Home), opts.foreign) }},
		{SourceEnvironment, func() (*patch, *Error) { return t.fromEnvironment(opts.Environ) }},
		{SourceFlag, func() (*patch, *Error) { return t.fromSet(opts.Set, opts.foreign) }},
	} {
		p, err := step.read()
		if err != nil {
			return t.complete(err)
		}
		p.apply(v, func(name string, o origin, replaces bool) {
			from.record(name, o, replaces)
			sources[name] = step.source
		})
	}
	t.root.resolvePaths(v, opts.Home)
	if err := t.validate(v); err != nil {
		err.Source = from.of(err.Property)
		return err
	}
	return nil
}

// newPatch returns an empty patch of the whole tree.
func (t *tree) newPatch() *patch { return &patch{node: t.root, name: t.root.name} }

// complete adds the nearest known name to the error of an unknown one.
func (t *tree) complete(err *Error) *Error {
	if err != nil && err.Rule == unknownRule && err.Suggestion == "" {
		err.Suggestion = t.suggest(err.Property)
	}
	return err
}

// fromFile reads the file that is wanted, or the usual one if it exists.
func (t *tree) fromFile(home, file string, f *foreign) (*patch, *Error) {
	if file == "" {
		return t.fromOptionalFile(filepath.Join(home, "config", "application.yaml"), f)
	}
	return t.fromExistingFile(file, f)
}

// fromOptionalFile reads a file that need not exist.
func (t *tree) fromOptionalFile(file string, f *foreign) (*patch, *Error) {
	if _, err := os.Stat(file); errors.Is(err, fs.ErrNotExist) {
		return t.newPatch(), nil
	}
	return t.fromExistingFile(file, f)
}

func (t *tree) fromExistingFile(file string, f *foreign) (*patch, *Error) {
	data, err := os.ReadFile(file)
	if err != nil {
		reason := err
		var pathErr *fs.PathError
		if errors.As(err, &pathErr) {
			reason = pathErr.Err
		}
		return nil, &Error{Source: file, Rule: "cannot read the configuration file: " + reason.Error(), err: err}
	}
	return t.fromYAML(file, data, f)
}

// fromYAML reads the content of a file.
func (t *tree) fromYAML(file string, data []byte, other *foreign) (*patch, *Error) {
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
func (t *tree) fromSet(items []string, other *foreign) (*patch, *Error) {
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

// notNameRune says that a rune cannot be in the name of a property.
func notNameRune(r rune) bool {
	letter := r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9'
	return !letter && !strings.ContainsRune(".-[]", r)
}

// putNamed assigns to a name that begins with that of the root, and leaves the
// rest to other, which may be nil.
func (t *tree) putNamed(root *patch, name string, in input, other *foreign) *Error {
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

// origins remembers where values came from, by the name of the property.
type origins struct {
	last  map[string]sequenced
	count int
}

// sequenced is an origin with the order in which it came.
type sequenced struct {
	origin
	order int
}

// record notes where the value of a property came from. What it replaces as a
// whole is forgotten.
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

// of returns the source of a value at fault. If that is a default, the fault is
// in what was last set near it.
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

// isBelow says that a name belongs to a part of the group or list.
func isBelow(name, group string) bool {
	rest, ok := strings.CutPrefix(name, group)
	return ok && rest != "" && (rest[0] == '.' || rest[0] == '[')
}

// parentName cuts off the last segment or position.
func parentName(name string) string {
	return name[:max(0, strings.LastIndexAny(name, ".["))]
}
