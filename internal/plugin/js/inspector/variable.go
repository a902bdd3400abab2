// SPDX-License-Identifier: Apache-2.0

package inspector

import (
	"strings"

	"example.org/app/internal/plugin/js/engine"
)

// maxAccessors limits the search through accessors, because code of a plugin might call a probe
// with a cycle of them.
const maxAccessors = 10_000

// variable returns the variable of a name that an accessor covers, unless it is global.
func (m *mirrors) variable(access engine.Value, name string) (v engine.Variable, ok bool) {
	atom := m.engine.Atom(name)
	defer m.engine.FreeAtom(atom)
	for range maxAccessors {
		c, isFunction := m.engine.Closure(access)
		if !isFunction {
			break
		}
		if v, ok = c.Find(atom); ok {
			return v, !v.Global
		}
		// An accessor that evaluates code has the variables of all scopes.
		last, outer, found := c.Last()
		if evaluates(c) || !found || !isAccessor(m.engine.AtomText(last)) {
			break
		}
		access, _ = outer.Value()
	}
	return v, false
}

// evaluates reports whether an accessor evaluates its argument.
func evaluates(c engine.Closure) bool { return c.Parameters() > 0 }

// isAccessor reports whether a variable contains an accessor.
func isAccessor(name string) bool {
	number, ok := strings.CutPrefix(name, ownName)
	return ok && number != "" && number[0] >= '0' && number[0] <= '9'
}

// look evaluates code at the position of a call.
func (m *mirrors) look(n *entry, code string) engine.Value {
	text := m.engine.String(code)
	defer m.engine.Free(text)
	m.evaluating++
	defer func() { m.evaluating-- }()
	if c, ok := m.engine.Closure(n.access); ok && evaluates(c) && code != "" {
		return m.engine.Call(n.access, engine.Undefined, text)
	}
	if code == "this" || identifier.MatchString(code) {
		if v, ok := m.variable(n.access, code); ok {
			if x, ok := v.Value(); ok {
				return m.engine.Dup(x)
			}
			return m.engine.Call(m.helpers["uninitialised"], engine.Undefined, text)
		}
	}
	return m.engine.Call(m.helpers["look"], engine.Undefined, n.access, text)
}

// assign assigns a variable that an accessor covers, or a global one.
func (m *mirrors) assign(access engine.Value, name string, x engine.Value) engine.Value {
	helper := "assign"
	if v, ok := m.variable(access, name); ok {
		if _, ok := v.Value(); !ok {
			helper = "uninitialised"
		} else if v.Const {
			helper = "constant"
		} else {
			v.Set(x)
			return engine.Undefined
		}
	}
	text := m.engine.String(name)
	defer m.engine.Free(text)
	m.evaluating++
	defer func() { m.evaluating-- }()
	return m.engine.Call(m.helpers[helper], engine.Undefined, text, x)
}

// readVariable and writeVariable are called by remote.js: the first returns an array with the
// value, undefined if there is none.
func (m *mirrors) readVariable(_ engine.Value, args []engine.Value) (engine.Value, error) {
	name, _ := m.engine.Text(args[1])
	v, ok := m.variable(args[0], name)
	if !ok {
		return engine.Undefined, nil
	}
	x, ok := v.Value()
	if !ok {
		return engine.Undefined, nil
	}
	r := m.engine.Array()
	if !m.engine.Append(r, 0, m.engine.Dup(x)) {
		m.engine.Free(r)
		return engine.Undefined, engine.Thrown()
	}
	return r, nil
}

func (m *mirrors) writeVariable(_ engine.Value, args []engine.Value) (engine.Value, error) {
	name, _ := m.engine.Text(args[1])
	if r := m.assign(args[0], name, args[2]); engine.IsFailed(r) {
		return r, engine.Thrown()
	}
	return engine.Undefined, nil
}
