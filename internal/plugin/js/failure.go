// SPDX-License-Identifier: Apache-2.0

package js

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"example.org/app/internal/apierr"
	"example.org/app/internal/plugin"
	"example.org/app/internal/plugin/js/engine"
)

// preludeName is the file name of the prelude, whose frames are removed from stack traces.
const preludeName = "<prelude>"

// failure converts an exception to an error: the plugin's refusal, or a failure.
func (m *module) failure(x *engine.Exception) error {
	if engine.IsObject(x.Value) && m.engine.Instance(x.Value, m.globals.appErrors) {
		code, _ := engine.AsNumber(m.t.property(x.Value, "code"))
		reason := m.t.property(x.Value, "reason")
		text, _ := m.engine.Text(reason)
		m.engine.Free(reason)
		if c := apierr.Code(code); c.Name() != "" {
			if text == "" {
				text = c.Text()
			}
			return &apierr.Error{Code: c, Reason: text}
		}
	}
	return m.exception(x)
}

// frame matches a line of a stack trace with a position.
var frame = regexp.MustCompile(`^\s*at (?:(.*) \()?(.+:\d+(?::\d+)?)\)?$`)

// exception formats an exception for the author of the plugin.
func (m *module) exception(x *engine.Exception) *plugin.Exception {
	r := &plugin.Exception{Message: x.Message}
	m.exhausted = m.exhausted || strings.Contains(x.Message, "out of memory")
	trace := m.scripts.authored(x.Stack)
	var stack []string
	for line := range strings.SplitSeq(trace, "\n") {
		if strings.Contains(line, preludeName) || strings.TrimSpace(line) == "" {
			continue
		}
		stack = append(stack, line)
		if r.Location != "" {
			continue
		}
		if f := frame.FindStringSubmatch(line); f != nil && !strings.Contains(f[2], "(native)") {
			r.Location = f[2]
		}
	}
	r.Stack = strings.Join(stack, "\n")
	if x.Interrupted && strings.HasPrefix(r.Message, "InternalError: interrupted") {
		r.Message = fmt.Sprintf("the code ran longer than %s and was interrupted", m.host.opts.TurnLimit)
	}
	if name, ok := undefinedName(x.Message); ok {
		r.Message += hints[name]
	}
	return r
}

// hints explain missing names.
var hints = map[string]string{
	"require":    nodeHint,
	"process":    nodeHint,
	"Buffer":     nodeHint + "; for bytes there is Uint8Array, TextEncoder, atob and btoa",
	"module":     nodeHint,
	"exports":    nodeHint,
	"__dirname":  nodeHint,
	"__filename": nodeHint,
	"window":     ": a plugin does not run in a browser; the global object is globalThis",
	"document":   ": a plugin does not run in a browser",
	"Intl":       ": texts cannot be made for a locale in a plugin; toLocaleString does not look at its parameters",
}

const nodeHint = ": Node.js modules cannot be used in a plugin; import a file beside it, or load() one"

func undefinedName(message string) (string, bool) {
	s, ok := strings.CutPrefix(message, "ReferenceError: ")
	if !ok {
		return "", false
	}
	s, ok = strings.CutSuffix(s, " is not defined")
	return strings.Trim(s, "'"), ok
}

// position returns the position of a function or a class.
func (m *module) position(f engine.Value) string {
	if !m.engine.IsFunction(f) {
		return m.name
	}
	file, line, column := m.t.property(f, "fileName"), m.t.property(f, "lineNumber"), m.t.property(f, "columnNumber")
	defer m.t.free([]engine.Value{file, line, column})
	if !engine.IsString(file) {
		return m.name
	}
	s, _ := m.engine.Text(file)
	for _, v := range []engine.Value{line, column} {
		if n, ok := engine.AsNumber(v); ok {
			s += ":" + strconv.Itoa(int(n))
		}
	}
	return m.scripts.authored(s)
}

// lineOf returns the line of a position, or 0.
func lineOf(location string) int {
	parts := strings.Split(location, ":")
	for _, p := range parts[1:] {
		if n, err := strconv.Atoi(p); err == nil {
			return n
		}
	}
	return 0
}

// errorValue returns the exception for a failed function of the server.
func (m *module) errorValue(err error) engine.Value {
	if e, ok := errors.AsType[*apierr.Error](err); ok && engine.IsObject(m.globals.appErrors) {
		reason := m.engine.String(e.Reason)
		v := m.engine.Construct(m.globals.appErrors, engine.Int(int32(e.Code)), reason)
		m.engine.Free(reason)
		return v
	}
	if _, ok := errors.AsType[*mismatch](err); ok {
		global := m.engine.Global()
		class := m.engine.GetName(global, "TypeError")
		text := m.engine.String(err.Error())
		v := m.engine.Construct(class, text)
		m.t.free([]engine.Value{global, class, text})
		return v
	}
	return m.engine.NewError(err.Error())
}
