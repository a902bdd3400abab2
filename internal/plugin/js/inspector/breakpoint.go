// SPDX-License-Identifier: Apache-2.0

package inspector

import (
	"fmt"
	"regexp"
	"strconv"
)

// A breakpoint is a breakpoint as set by a debugger.
type breakpoint struct {
	id           string
	session      *session
	matches      func(*script) bool
	line, column int
	condition    string
	// at are the probes at which it applies.
	at map[int]bool
}

type location struct {
	ScriptID     string `json:"scriptId"`
	LineNumber   int    `json:"lineNumber"`
	ColumnNumber int    `json:"columnNumber"`
}

func (p *probe) location() location { return location{p.script.id, p.Line, p.Column} }

// resolve returns the statement of a breakpoint in a script: the first one of its line from its
// column on, or the one that spans its line, or the next one. The caller holds the lock of the
// target.
func (b *breakpoint) resolve(s *script) (location, bool) {
	if !b.matches(s) {
		return location{}, false
	}
	var best *probe
	for _, p := range s.probes {
		if p.Line < b.line || p.Line == b.line && p.Column < b.column {
			continue
		}
		if best == nil || p.Line < best.Line || p.Line == best.Line && p.Column < best.Column {
			best = p
		}
	}
	if best == nil || best.Line > b.line {
		// A statement that spans the line, the innermost if there are several.
		for _, p := range s.probes {
			if p.Line < b.line && b.line <= p.EndLine && (best == nil || best.Line > b.line || p.Line >= best.Line) {
				best = p
			}
		}
	}
	if best == nil && b.column > 0 {
		// A position behind the last statement of its line means the line.
		for _, p := range s.probes {
			if p.Line == b.line {
				best = p
			}
		}
	}
	if best == nil {
		return location{}, false
	}
	b.at[best.id] = true
	return best.location(), true
}

type setBreakpointByURL struct {
	LineNumber   int
	ColumnNumber int
	URL          *string
	URLRegex     *string
	ScriptHash   *string
	Condition    string
}

func (s *session) setBreakpointByURL(p setBreakpointByURL) (any, error) {
	b := &breakpoint{session: s, line: p.LineNumber, column: p.ColumnNumber, condition: p.Condition, at: map[int]bool{}}
	var what string
	switch {
	case p.URL != nil:
		what, b.matches = *p.URL, func(s *script) bool { return s.url == *p.URL }
	case p.URLRegex != nil:
		re, err := regexp.Compile(*p.URLRegex)
		if err != nil {
			return nil, invalid("urlRegex", err)
		}
		what, b.matches = *p.URLRegex, func(s *script) bool { return re.MatchString(s.url) }
	case p.ScriptHash != nil:
		what, b.matches = *p.ScriptHash, func(s *script) bool { return s.hash() == *p.ScriptHash }
	default:
		return nil, &protocolError{-32000, "Either url or urlRegex or scriptHash must be specified."}
	}
	t := s.target
	t.mu.Lock()
	defer t.mu.Unlock()
	b.id = fmt.Sprintf("1:%d:%d:%s", p.LineNumber, p.ColumnNumber, what)
	if t.breakpoints[b.id] != nil {
		return nil, &protocolError{-32000, "Breakpoint at specified location already exists."}
	}
	t.breakpoints[b.id] = b
	locations := []location{}
	for _, sc := range t.scripts.list {
		if l, ok := b.resolve(sc); ok {
			locations = append(locations, l)
		}
	}
	return map[string]any{"breakpointId": b.id, "locations": locations}, nil
}

type setBreakpoint struct {
	Location  location
	Condition string
}

func (s *session) setBreakpoint(p setBreakpoint) (any, error) {
	t := s.target
	t.mu.Lock()
	defer t.mu.Unlock()
	sc, err := t.scripts.script(p.Location.ScriptID)
	if err != nil {
		return nil, err
	}
	b := &breakpoint{
		id:      fmt.Sprintf("4:%d:%d:%s", p.Location.LineNumber, p.Location.ColumnNumber, sc.id),
		session: s, line: p.Location.LineNumber, column: p.Location.ColumnNumber, condition: p.Condition,
		matches: func(x *script) bool { return x == sc }, at: map[int]bool{},
	}
	if t.breakpoints[b.id] != nil {
		return nil, &protocolError{-32000, "Breakpoint at specified location already exists."}
	}
	l, ok := b.resolve(sc)
	if !ok {
		return nil, &protocolError{-32000, "Could not resolve breakpoint"}
	}
	t.breakpoints[b.id] = b
	return map[string]any{"breakpointId": b.id, "actualLocation": l}, nil
}

type continueToLocation struct{ Location location }

// continueToLocation resumes the plugin until it reaches a location, or stops for another reason.
func (s *session) continueToLocation(p continueToLocation) (any, error) {
	t := s.target
	t.mu.Lock()
	sc, err := t.scripts.script(p.Location.ScriptID)
	if err == nil && t.resumed != nil {
		b := &breakpoint{
			id: untilID, session: s, line: p.Location.LineNumber, column: p.Location.ColumnNumber,
			matches: func(x *script) bool { return x == sc }, at: map[int]bool{},
		}
		if _, ok := b.resolve(sc); ok {
			t.breakpoints[b.id] = b
		}
	}
	t.mu.Unlock()
	if err != nil {
		return nil, err
	}
	return t.goStep(noStep)
}

// untilID is the id of continueToLocation's breakpoint, which is removed at the next pause.
const untilID = "until"

type removeBreakpoint struct{ BreakpointID string }

func (s *session) removeBreakpoint(p removeBreakpoint) (any, error) {
	s.target.mu.Lock()
	defer s.target.mu.Unlock()
	delete(s.target.breakpoints, p.BreakpointID)
	return nil, nil
}

type getPossibleBreakpoints struct {
	Start location
	End   *location
}

func (s *session) getPossibleBreakpoints(p getPossibleBreakpoints) (any, error) {
	s.target.mu.Lock()
	defer s.target.mu.Unlock()
	sc, err := s.target.scripts.script(p.Start.ScriptID)
	if err != nil {
		return nil, err
	}
	before := func(a, b location) bool {
		return a.LineNumber < b.LineNumber || a.LineNumber == b.LineNumber && a.ColumnNumber < b.ColumnNumber
	}
	list := []location{}
	for _, q := range sc.probes {
		if l := q.location(); !before(l, p.Start) && (p.End == nil || before(l, *p.End)) {
			list = append(list, l)
		}
	}
	return map[string]any{"locations": list}, nil
}

// script finds a script; the caller holds the lock of the target.
func (s *scripts) script(id string) (*script, error) {
	if n, err := strconv.Atoi(id); err == nil && n > 0 && n <= len(s.list) {
		return s.list[n-1], nil
	}
	return nil, &protocolError{-32000, "No script for id: " + id}
}
