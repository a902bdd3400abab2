// SPDX-License-Identifier: Apache-2.0

package property

import (
	"maps"
	"slices"
	"strconv"
	"strings"
)

// Foreign contains the properties of others, such as plugins: everything whose name does not begin
// with the root's. There is no declaration, so names are converted to camelCase, and values have
// the type in which they are written.
type Foreign struct {
	// root is the first word of the server's names.
	root   string
	values map[string]any
	// variables are the environment, which is searched on demand, because only a prefix tells which
	// variables are properties.
	variables map[string]string
}

// Below returns the properties below a prefix such as "my-plugin" or "app-plugin.push", as nested
// maps with camelCase names that contain bool, int64, float64, string, []any and map[string]any.
// The caller owns the result, which is never nil. For a prefix of the server's own properties it
// returns an *Error.
//
// In the environment my-plugin.api-key is MY_PLUGIN_API_KEY or MYPLUGIN_API_KEY. A name that is not
// in the file as well is a single word below the prefix, however many parts it has.
func (f *Foreign) Below(prefix string) (map[string]any, error) {
	segments := strings.Split(strings.TrimSpace(prefix), ".")
	if slices.Contains(segments, "") {
		return nil, &Error{Property: prefix, Rule: "a prefix must be one or more words with dots between them"}
	}
	if canonical(segments[0]) == f.root {
		return nil, &Error{Property: prefix, Rule: "the properties of the server itself are not for plugins"}
	}
	var below any = f.values
	for _, s := range segments {
		m, _ := below.(map[string]any)
		_, below = member(m, s)
	}
	found, _ := copyValue(below).(map[string]any)
	if found == nil {
		found = map[string]any{}
	}
	f.overlay(found, segments)
	return found, nil
}

// Roots returns their first words, without those of the environment.
func (f *Foreign) Roots() []string { return slices.Sorted(maps.Keys(f.values)) }

// NewForeign returns the foreign properties of an environment. root is the first word of the
// server's names.
func NewForeign(root string, environ []string) *Foreign {
	f := &Foreign{root: root, values: map[string]any{}, variables: map[string]string{}}
	for _, v := range environ {
		if name, value, ok := strings.Cut(v, "="); ok {
			f.variables[name] = value
		}
	}
	return f
}

// takes reports whether a name is foreign. One that looks like a mistyped name of the server is
// not.
func (f *Foreign) takes(t *Tree, name string) bool {
	if f == nil {
		return false
	}
	first, _, _ := strings.Cut(name, ".")
	first, _, _ = strings.Cut(first, "[")
	return first != "" && canonical(first) != t.root.name && t.suggest(first) != t.root.name && !strings.ContainsFunc(first, notNameRune)
}

// put sets the value of a name.
func (f *Foreign) put(name string, in input) *Error {
	if strings.ContainsFunc(name, notNameRune) || slices.Contains(strings.Split(name, "."), "") {
		return &Error{Source: in.origin.String(), Property: name, Rule: "a property must be one or more words with dots between them"}
	}
	f.values = insert(f.values, strings.Split(name, "."), in)
	return nil
}

// insert sets what a source gives below a name in m and returns m.
func insert(m map[string]any, path []string, in input) map[string]any {
	if m == nil {
		m = map[string]any{}
	}
	word, position, indexed := strings.Cut(path[0], "[")
	key, old := member(m, word)
	if indexed {
		list, _ := old.([]any)
		i, err := strconv.Atoi(strings.TrimSuffix(position, "]"))
		if err != nil || i < 0 || i > len(list) {
			i = len(list) // Like the next one: a list has no gaps.
		}
		if i == len(list) {
			list = append(slices.Clip(list), nil)
		}
		list[i] = place(list[i], path[1:], in)
		m[key] = list
		return m
	}
	m[key] = place(old, path[1:], in)
	return m
}

// place returns the new value after a source sets it or something below it.
func place(old any, path []string, in input) any {
	inner, _ := old.(map[string]any)
	if len(path) > 0 {
		return insert(inner, path, in)
	}
	if in.kind != inputMapping {
		return foreignValue(in, old)
	}
	if inner == nil {
		inner = map[string]any{}
	}
	for _, field := range in.fields {
		inner = insert(inner, strings.Split(field.key, "."), field.value)
	}
	return inner
}

// foreignValue converts a source's value. Text of flags and of the environment gets the type of
// what it replaces, or the one that it looks like.
func foreignValue(in input, old any) any {
	switch in.kind {
	case inputNull:
		return nil
	case inputSequence:
		list := []any{}
		for _, item := range in.items {
			list = append(list, place(nil, nil, item))
		}
		return list
	}
	_, wasText := old.(string)
	if in.flat && wasText || !in.flat && !slices.Contains([]string{"!!bool", "!!int", "!!float"}, in.tag) {
		return in.text
	}
	switch n, err := strconv.ParseInt(in.text, 10, 64); {
	case in.text == "true" || in.text == "false":
		return in.text == "true"
	case err == nil && strconv.FormatInt(n, 10) == in.text:
		return n
	}
	if x, err := strconv.ParseFloat(in.text, 64); err == nil && (!in.flat || strconv.FormatFloat(x, 'f', -1, 64) == in.text) {
		return x
	}
	return in.text
}

// overlay sets the variables of the environment for a prefix in m.
func (f *Foreign) overlay(m map[string]any, prefix []string) {
	words := make([]string, len(prefix))
	for i, s := range prefix {
		words[i] = kebab(s)
	}
	name := strings.Join(words, ".")
	long, short := envName(name)+"_", envName(strings.ReplaceAll(name, "-", ""))+"_"
	for _, name := range slices.Sorted(maps.Keys(f.variables)) {
		rest, ok := strings.CutPrefix(name, long)
		if !ok {
			rest, ok = strings.CutPrefix(name, short)
		}
		if !ok || rest == "" || strings.HasPrefix(name, envName(f.root)+"_") {
			continue
		}
		insert(m, pathIn(m, strings.Split(rest, "_")), input{kind: inputText, text: f.variables[name], flat: true})
	}
}

// pathIn returns the path for the words of a variable among the known names, else a single name.
func pathIn(m map[string]any, words []string) []string {
	for n := range words {
		key, value := member(m, strings.Join(words[:n+1], "-"))
		inner, isMap := value.(map[string]any)
		switch {
		case value == nil:
		case n == len(words)-1:
			return []string{key}
		case isMap:
			return append([]string{key}, pathIn(inner, words[n+1:])...)
		}
	}
	return []string{strings.ToLower(strings.Join(words, "-"))}
}

// member finds a member by any spelling of its name. If there is none, key is the one to use.
func member(m map[string]any, name string) (key string, value any) {
	wanted := canonical(name)
	for key, value := range m {
		if canonical(key) == wanted {
			return key, value
		}
	}
	if kebabWord(name) {
		return camel(name), nil
	}
	return name, nil
}

// kebabWord reports whether a name is in kebab-case: keys of maps, such as en-US, need not be.
func kebabWord(name string) bool {
	return strings.ToLower(name) == name && !strings.HasPrefix(name, "-") && !strings.HasSuffix(name, "-")
}

func copyValue(v any) any {
	switch v := v.(type) {
	case map[string]any:
		m := make(map[string]any, len(v))
		for key, value := range v {
			m[key] = copyValue(value)
		}
		return m
	case []any:
		list := make([]any, len(v))
		for i, value := range v {
			list[i] = copyValue(value)
		}
		return list
	}
	return v
}
