// SPDX-License-Identifier: Apache-2.0

package property

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// patch contains what one source sets in a node of the tree and below it. Values are converted and
// checked when they are added, so that the first problem in a source is reported.
type patch struct {
	node *node
	// name is the full name with actual positions in lists.
	name string
	// spelling is the source's spelling of the name, with its position; for errors.
	spelling string
	origin   origin

	children map[*node]*patch  // of a group
	elements map[int]*patch    // of a list
	entries  map[string]*patch // of a map
	// whole is true if a list or map was given as one value.
	whole bool
	// value is the value of a scalar once it is set.
	value reflect.Value
}

// assignment contains the common parameters of one put.
type assignment struct {
	// written is the name so far, in the source's spelling.
	written     string
	onlyMutable bool
}

// fixedRule is the rule for immutable properties.
const fixedRule = "must not be changed while the server runs"

// fixed reports whether the assignment must not change the leaf p.
func (p *patch) fixed(a assignment) bool {
	return a.onlyMutable && p.node.kind != kindGroup && !p.node.prop.Mutable
}

// put assigns a value to the property with a path relative to p.
func (p *patch) put(path string, in input, a assignment) *Error {
	a.written = joinName(a.written, path)
	target, err := p.descend(path, in, a)
	if err != nil {
		return err
	}
	return target.assign(in, a)
}

// descend follows a path and returns the patch at its end.
func (p *patch) descend(path string, in input, a assignment) (*patch, *Error) {
	unknown := func(rest string) *Error {
		return &Error{Source: in.origin.String(), Property: joinName(p.name, rest), Rule: unknownRule}
	}
	if path == "" {
		return nil, unknown(path)
	}
	for rest := path; rest != ""; {
		switch p.node.kind {
		case kindGroup:
			end := strings.IndexAny(rest, ".[")
			if end < 0 {
				end = len(rest)
			}
			c, ok := p.node.child(rest[:end])
			if !ok || strings.HasSuffix(rest, ".") {
				return nil, unknown(rest)
			}
			p, rest = p.child(c), strings.TrimPrefix(rest[end:], ".")
		case kindList:
			position, tail, ok := cutPosition(rest)
			switch {
			case !ok:
				return nil, &Error{
					Source: in.origin.String(), Property: joinName(p.name, rest),
					Rule: "the name of a list must be followed by a position such as [0]",
				}
			case p.fixed(a):
				return nil, p.refuse(in, fixedRule)
			case p.whole:
				return nil, p.twice(in, a)
			}
			p, rest = p.element(position), tail
		case kindMap:
			switch {
			case p.fixed(a):
				return nil, p.refuse(in, fixedRule)
			case p.whole:
				return nil, p.twice(in, a)
			}
			return p.entry(rest), nil
		default:
			return nil, unknown(rest)
		}
	}
	return p, nil
}

// cutPosition splits "[3].url" into 3 and "url".
func cutPosition(path string) (position int, rest string, ok bool) {
	digits, rest, ok := strings.Cut(strings.TrimPrefix(path, "["), "]")
	if !ok || path[0] != '[' || !decimal.MatchString(digits) {
		return 0, "", false
	}
	position, err := strconv.Atoi(digits)
	if err != nil || position < 0 {
		return 0, "", false
	}
	if rest == "" {
		return position, "", true
	}
	rest, ok = strings.CutPrefix(rest, ".")
	return position, rest, ok && rest != ""
}

func (p *patch) child(n *node) *patch {
	if p.children == nil {
		p.children = make(map[*node]*patch)
	}
	c, ok := p.children[n]
	if !ok {
		c = &patch{node: n, name: joinName(p.name, n.segment)}
		p.children[n] = c
	}
	return c
}

func (p *patch) element(position int) *patch {
	if p.elements == nil {
		p.elements = make(map[int]*patch)
	}
	c, ok := p.elements[position]
	if !ok {
		c = &patch{node: p.node.elem, name: fmt.Sprintf("%s[%d]", p.name, position)}
		p.elements[position] = c
	}
	return c
}

func (p *patch) entry(key string) *patch {
	if p.entries == nil {
		p.entries = make(map[string]*patch)
	}
	c, ok := p.entries[key]
	if !ok {
		c = &patch{node: p.node.elem, name: joinName(p.name, key)}
		p.entries[key] = c
	}
	return c
}

// assign assigns a value to the node of p itself.
func (p *patch) assign(in input, a assignment) *Error {
	if in.kind == inputNull {
		// A group may be null because everything in it is commented out. An element, which has no
		// segment, cannot be omitted like that.
		if p.node.segment != "" && (in.lenient || p.node.kind == kindGroup) {
			return nil
		}
		return p.refuse(in, "must have a value")
	}
	if p.fixed(a) {
		return p.refuse(in, fixedRule)
	}
	switch p.node.kind {
	case kindGroup:
		if in.kind != inputMapping {
			return p.refuse(in, "must be a group of properties, not "+in.kind.String())
		}
		return p.assignMembers(in, a)
	case kindList:
		return p.assignList(in, a)
	case kindMap:
		return p.assignMap(in, a)
	}
	if in.kind != inputText {
		return p.refuse(in, "must be one value, not "+in.kind.String())
	}
	if p.value.IsValid() {
		return p.twice(in, a)
	}
	v, rule := p.node.convert(in.text)
	if rule != "" {
		return p.refuse(in, rule)
	}
	p.value = v
	p.mark(in, a)
	return nil
}

// mark records the source of a value.
func (p *patch) mark(in input, a assignment) {
	p.origin, p.spelling = in.origin, spelling(in, a)
}

// assignMembers assigns the members of a mapping.
func (p *patch) assignMembers(in input, a assignment) *Error {
	if p.spelling == "" {
		p.mark(in, a)
	}
	for _, f := range in.fields {
		if err := p.put(f.key, f.value, a); err != nil {
			return err
		}
	}
	return nil
}

func (p *patch) assignList(in input, a assignment) *Error {
	switch {
	case in.kind == inputMapping && positions(in):
		return p.assignPositions(in, a)
	case in.kind == inputText && (in.flat || in.lenient) && strings.TrimSpace(in.text) == "":
		in.kind = inputSequence
	case in.kind == inputText && (in.flat || in.lenient) && p.node.elem.kind == kindScalar:
		for item := range strings.SplitSeq(in.text, ",") {
			in.items = append(in.items, input{kind: inputText, text: strings.TrimSpace(item), origin: in.origin})
		}
		in.kind = inputSequence
	case in.kind != inputSequence && in.lenient:
		in = input{kind: inputSequence, items: []input{in}, origin: in.origin}
	case in.kind != inputSequence:
		return p.refuse(in, "must be a list, not "+in.kind.String())
	}
	if p.whole || len(p.elements) > 0 {
		return p.twice(in, a)
	}
	for i, item := range in.items {
		e, inner := p.element(i), a
		inner.written = joinName(a.written, fmt.Sprintf("[%d]", i))
		if err := e.assign(item, inner); err != nil {
			return err
		}
	}
	if rule := p.node.rules.checkLength(int64(len(in.items)), "element"); rule != "" {
		return p.refuse(in, rule)
	}
	p.whole = true
	p.mark(in, a)
	return nil
}

// positions reports whether a mapping has positions of a list as keys.
func positions(in input) bool {
	return len(in.fields) > 0 && strings.HasPrefix(in.fields[0].key, "[")
}

// assignPositions assigns the members of a mapping whose keys are positions.
func (p *patch) assignPositions(in input, a assignment) *Error {
	if p.whole {
		return p.twice(in, a)
	}
	return p.assignMembers(in, a)
}

func (p *patch) assignMap(in input, a assignment) *Error {
	if in.kind == inputText && in.flat {
		for item := range strings.SplitSeq(in.text, ",") {
			key, value, ok := strings.Cut(item, "=")
			if !ok && in.text != "" {
				return p.refuse(in, "must be a list of key=value separated by commas")
			}
			if ok {
				text := input{kind: inputText, text: strings.TrimSpace(value), origin: in.origin}
				in.fields = append(in.fields, inputField{key: strings.TrimSpace(key), value: text})
			}
		}
		in.kind = inputMapping
	}
	if in.kind != inputMapping {
		return p.refuse(in, "must be a group of keys, not "+in.kind.String())
	}
	if p.whole || len(p.entries) > 0 {
		return p.twice(in, a)
	}
	for _, f := range in.fields {
		if f.key == "" {
			return p.refuse(in, "must not have an empty key")
		}
		inner := a
		inner.written = joinName(a.written, f.key)
		if err := p.entry(f.key).assign(f.value, inner); err != nil {
			return err
		}
	}
	p.whole = true
	p.mark(in, a)
	return nil
}

// refuse returns the error for an invalid value.
func (p *patch) refuse(in input, rule string) *Error {
	e := &Error{Source: in.origin.String(), Property: p.name, Rule: rule}
	if in.kind == inputText {
		text := in.text
		if p.node.url {
			text = RedactURL(text)
		}
		e.Value = printableValue(text, p.node.secret)
	}
	return e
}

// twice returns the error for a second spelling of the same property.
func (p *patch) twice(in input, a assignment) *Error {
	first := p.spelling
	if first == "" {
		first = p.firstSpelling()
	}
	return &Error{
		Source: in.origin.String(), Property: p.name,
		Rule: fmt.Sprintf("must not be given twice, as %s and as %s", first, spelling(in, a)),
	}
}

// firstSpelling returns the spelling of the first part of a list or map.
func (p *patch) firstSpelling() string {
	for _, part := range p.parts() {
		if part.spelling != "" {
			return part.spelling
		}
		if s := part.firstSpelling(); s != "" {
			return s
		}
	}
	return ""
}

// spelling returns the source's spelling of the name, with its line if it has lines.
func spelling(in input, a assignment) string {
	if in.origin.line > 0 {
		return fmt.Sprintf("%s in line %d", printableName(a.written), in.origin.line)
	}
	return printableName(a.written)
}

// parts returns the patches below p in the order of declaration, position or
// key.
func (p *patch) parts() []*patch {
	var parts []*patch
	for _, c := range p.node.children {
		if part, ok := p.children[c]; ok {
			parts = append(parts, part)
		}
	}
	for _, i := range slices.Sorted(maps.Keys(p.elements)) {
		parts = append(parts, p.elements[i])
	}
	for _, key := range slices.Sorted(maps.Keys(p.entries)) {
		parts = append(parts, p.entries[key])
	}
	return parts
}

// finish checks what is only known at the end of a source.
func (p *patch) finish() *Error {
	for i, position := range slices.Sorted(maps.Keys(p.elements)) {
		if position != i {
			from, _ := p.elements[position].firstOrigin()
			return &Error{
				Source: from.String(), Property: p.name,
				Rule: fmt.Sprintf("must not have a gap: position %d is given, but %d is missing", position, i),
			}
		}
	}
	for _, part := range p.parts() {
		if err := part.finish(); err != nil {
			return err
		}
	}
	return nil
}

// firstOrigin returns the source of the first value at or below p.
func (p *patch) firstOrigin() (origin, bool) {
	if p.spelling != "" {
		return p.origin, true
	}
	for _, part := range p.parts() {
		if o, ok := part.firstOrigin(); ok {
			return o, true
		}
	}
	return origin{}, false
}

// apply writes the patch into the value of its node and calls record, which may be nil, for every
// written place. Lists and maps are replaced as a whole.
func (p *patch) apply(v reflect.Value, record func(name string, from origin, replaces bool)) {
	note := func(replaces bool) {
		if from, ok := p.firstOrigin(); ok && record != nil {
			record(p.name, from, replaces)
		}
	}
	switch p.node.kind {
	case kindGroup:
		for _, part := range p.parts() {
			part.apply(v.FieldByIndex(part.node.index), record)
		}
	case kindScalar:
		if p.value.IsValid() {
			v.Set(p.value)
			note(false)
		}
	case kindList:
		if !p.whole && len(p.elements) == 0 {
			return
		}
		note(true)
		v.SetZero()
		if len(p.elements) == 0 {
			return
		}
		list := reflect.MakeSlice(v.Type(), len(p.elements), len(p.elements))
		for i, part := range p.parts() {
			p.node.elem.setDefaults(list.Index(i))
			part.apply(list.Index(i), record)
		}
		v.Set(list)
	case kindMap:
		if !p.whole && len(p.entries) == 0 {
			return
		}
		note(true)
		v.SetZero()
		if len(p.entries) == 0 {
			return
		}
		m := reflect.MakeMapWithSize(v.Type(), len(p.entries))
		for key, part := range p.entries {
			value := reflect.New(v.Type().Elem()).Elem()
			part.apply(value, record)
			m.SetMapIndex(reflect.ValueOf(key).Convert(v.Type().Key()), value)
		}
		v.Set(m)
	}
}
