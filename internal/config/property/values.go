// SPDX-License-Identifier: Apache-2.0

package property

// Values are new values of properties that fit their types.
type Values struct{ patch *patch }

// Read takes the members of nested maps, such as decoded JSON, for the values of properties. Names
// are camelCase or kebab-case, without the root's name. Groups are merged; lists and maps are
// replaced as a whole. Numbers and booleans may be given as strings, one element instead of a list
// of it, and null is the same as absent. An unknown name, a value of the wrong type and, with
// onlyMutable, a property that may not change while the server runs are an *Error.
func (t *Tree) Read(values map[string]any, onlyMutable bool) (Values, error) {
	in, err := goInput(values, 0)
	if err != nil {
		return Values{}, &Error{Property: t.root.name, Rule: err.Error()}
	}
	p := t.newPatch()
	if err := p.assign(in, assignment{written: t.root.name, onlyMutable: onlyMutable}); err != nil {
		return Values{}, t.complete(err)
	}
	if err := p.finish(); err != nil {
		return Values{}, err
	}
	return Values{p}, nil
}

// Properties returns the properties that have a new value, in the order of declaration, whether or
// not it differs from the old one.
func (v Values) Properties() (list []Property) {
	v.patch.visitLeaves(func(n *node) { list = append(list, n.property()) })
	return list
}

// Write sets the properties of the struct that target points to, and calls wrote with the name of
// each. Nothing is validated.
func (v Values) Write(target any, wrote func(name string)) {
	v.patch.apply(valueOf(target), func(name string, _ origin, _ bool) { wrote(name) })
}
