// SPDX-License-Identifier: Apache-2.0

package inspector

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"sort"
	"strconv"
	"strings"

	"example.org/app/internal/plugin/js/inspector/syntax"
)

// insertProbes is equivalent to the function in instrument.js, but many times faster. It
// returns an error for sources that package syntax does not parse; acorn may parse them.
func insertProbes(source string, module bool, firstProbe int) (r *instrumented, err error) {
	defer func() {
		// A plugin's source must not crash the server.
		if value := recover(); value != nil {
			r, err = nil, fmt.Errorf("insert probes: %v", value)
		}
	}()
	tree, err := syntax.Parse(source, module)
	if err != nil {
		return nil, err
	}
	w := &writer{source: source, firstProbe: firstProbe, insertions: make([]inserted, 0, len(source)/16), probes: []*probe{}, module: module, positions: newPositions(source)}
	w.program(tree)
	if w.err != nil {
		return nil, w.err
	}
	return &instrumented{Code: w.code(), Probes: w.probes, Scopes: w.scopes}, nil
}

// Marks surround each insertion. For the engine they are whitespace; they are the shortest
// sequences that are unlikely in sources.
const (
	openMark  = "\v\f"
	closeMark = "\f\v"
)

// Names that instrumented code adds to those of its author. Short ones take less time to compile.
const (
	// ownName is the prefix of all of them. Followed by a number, it is a variable with an
	// accessor.
	ownName = "__app_"
	// probeName, catchName and leaveName are global functions: the first is called before each
	// statement, the second with an exception that leaves a function or a try block, the third at
	// the end of a call that can be suspended.
	probeName = ownName + "p"
	catchName = ownName + "c"
	leaveName = ownName + "l"
	// evaluatedCode is the parameter of an accessor that evaluates code.
	evaluatedCode = ownName + "e"
)

// A writer collects insertions.
type writer struct {
	source     string
	firstProbe int
	positions  *positions
	insertions []inserted
	probes     []*probe
	scopes     []*scope
	// self is true for each scope with its own this.
	self []bool
	// module is true if top-level variables are not global.
	module bool
	// free are unused preallocated probes.
	free []probe
	// err is the reason why the source is invalid although it was parsed.
	err error
}

type inserted struct {
	pos   int
	opens bool
	text  string
}

// A state is the position of the writer: the scope, the function, and what its code can use. Copies
// of it share calls.
type state struct {
	scope int
	// access is the name of the variable with the accessor, depth the number of enclosing
	// accessors, and seen the innermost scope that it covers.
	access string
	depth  int
	seen   int
	// Function.
	name         string
	line, column int
	calls        *[]int
	suspendable  bool
	caught       bool
	// constructs is true if the next function is a constructor, again if a call of the function can
	// be restarted.
	constructs   bool
	again        bool
	hasPrivate   bool
	hasArguments bool
}

func (w *writer) insert(pos int, opens bool, text string) {
	w.insertions = append(w.insertions, inserted{pos, opens, text})
}

// code returns the source with the insertions.
func (w *writer) code() string {
	slices.SortStableFunc(w.insertions, func(a, b inserted) int {
		if a.pos != b.pos || a.opens == b.opens {
			return cmp.Compare(a.pos, b.pos)
		}
		if a.opens {
			return 1
		}
		return -1
	})
	size := len(w.source)
	for _, x := range w.insertions {
		size += len(x.text) + len(openMark) + len(closeMark)
	}
	var b strings.Builder
	b.Grow(size)
	last := 0
	for _, x := range w.insertions {
		b.WriteString(w.source[last:x.pos])
		b.WriteString(openMark)
		b.WriteString(x.text)
		b.WriteString(closeMark)
		last = x.pos
	}
	b.WriteString(w.source[last:])
	return b.String()
}

func (w *writer) newScope(kind string, names []string, parent int) int {
	seen := make(map[string]bool, len(names))
	unique := make([]string, 0, len(names))
	for _, n := range names {
		if !seen[n] {
			seen[n] = true
			unique = append(unique, n)
		}
	}
	w.scopes = append(w.scopes, &scope{Kind: kind, Names: unique, Parent: parent})
	w.self = append(w.self, false)
	return len(w.scopes) - 1
}

// accessor returns a function that names the variables of a scope, so that they can be found in its
// closure. It ends with the accessor of the enclosing scopes, or is that one if these contain all
// variables. It is never called, except that of a class with private members, which evaluates code.
func (w *writer) accessor(s state) string {
	if s.access != "" && !s.hasPrivate && !w.hasOwn(s) {
		return s.access
	}
	var b strings.Builder
	b.Grow(64)
	if s.hasPrivate {
		b.WriteString(evaluatedCode + "=>" + evaluatedCode + "?eval(" + evaluatedCode + "):this*")
	} else {
		b.WriteString("()=>")
	}
	isFunction := false
	var names []string
	for i := s.scope; i != s.seen; i = w.scopes[i].Parent {
		isFunction = isFunction || w.self[i]
		if w.scopes[i].Parent < 0 && !w.module {
			continue // Top-level variables of scripts are global.
		}
		for _, n := range w.scopes[i].Names {
			if i == s.scope || !slices.Contains(names, n) {
				names = append(names, n)
				b.WriteString(n)
				// Products take the fewest steps in the parser of the engine.
				b.WriteByte('*')
			}
		}
	}
	if isFunction {
		if s.hasArguments && !slices.Contains(names, "arguments") {
			b.WriteString("arguments*")
		}
		b.WriteString("this*")
	}
	if s.access == "" {
		return b.String()[:b.Len()-1]
	}
	b.WriteString(s.access)
	return b.String()
}

// hasOwn reports whether a state has variables, or a this, that its accessor does not cover.
func (w *writer) hasOwn(s state) bool {
	for i := s.scope; i != s.seen; i = w.scopes[i].Parent {
		if len(w.scopes[i].Names) > 0 || w.self[i] {
			return true
		}
	}
	return false
}

func (w *writer) newAccess(s state) (string, state) {
	if s.access != "" && !s.hasPrivate && !w.hasOwn(s) {
		s.seen = s.scope
		return "", s
	}
	// Each is in its own block. Equal names at equal depths result in fewer names for the engine.
	name := ownName + strconv.Itoa(s.depth)
	if s.depth == 0 && !w.module {
		name += "_" + strconv.Itoa(w.firstProbe) // It is global.
	}
	made := "let " + name + "=" + w.accessor(s) + ";"
	s.access, s.depth, s.seen = name, s.depth+1, s.scope
	return made, s
}

func (w *writer) probe(n *syntax.Node, s state) string {
	line, column := w.positions.at(n.Start)
	if len(w.free) == 0 {
		w.free = make([]probe, 64)
	}
	p := &w.free[0]
	w.free = w.free[1:]
	*p = probe{
		Line: line, Column: column, Scope: s.scope, Function: s.name, FunctionLine: s.line, FunctionColumn: s.column, EndLine: w.lastLine(n), Calls: *s.calls,
		Caught: s.caught, Debugger: n.Kind == syntax.Debugger, Suspends: s.suspendable && suspends(n), Again: s.again,
	}
	*s.calls = nil
	w.probes = append(w.probes, p)
	access := s.access
	if s.scope != s.seen {
		access = w.accessor(s)
	}
	return probeName + "(" + strconv.Itoa(w.firstProbe+len(w.probes)-1) + "," + access + ");"
}

// lastLine returns the last line of a statement, without the statements inside it. Functions inside
// an expression belong to it.
func (w *writer) lastLine(n *syntax.Node) int {
	at := n.End
	switch n.Kind {
	case syntax.If, syntax.Function, syntax.Catch:
		at = n.B.Start
	case syntax.Try:
		at = n.A.Start
	case syntax.Switch:
		if len(n.List) > 0 {
			at = n.List[0].Start
		}
	case syntax.For, syntax.ForIn, syntax.ForOf, syntax.While, syntax.DoWhile, syntax.Labeled, syntax.With:
		at = n.D.Start
	case syntax.Class:
		at = n.Body
	case syntax.Export, syntax.ExportValue:
		if n.A != nil && n.A.Kind == syntax.Class {
			at = n.A.Body
		}
	}
	line, _ := w.positions.at(at)
	return line
}

// passing returns the end of a try block that observes exceptions.
func passing(caught, leaves bool) string {
	text := "}catch(_){throw " + catchName + "(_)}"
	if caught {
		text = "}catch(_){throw " + catchName + "(_,1)}"
	}
	if leaves {
		text += "finally{" + leaveName + "()}"
	}
	return text
}

// silent reports whether a statement needs no probe.
func silent(n *syntax.Node) bool {
	switch n.Kind {
	case syntax.Empty, syntax.Block, syntax.Import, syntax.ExportAll:
		return true
	case syntax.Expression:
		return n.Has(syntax.Directive)
	case syntax.Export, syntax.ExportValue:
		return n.A == nil || isDeclaredFunction(n.A)
	}
	return isDeclaredFunction(n)
}

func isDeclaredFunction(n *syntax.Node) bool {
	return n.Kind == syntax.Function && n.Has(syntax.Declared)
}

func (w *writer) statements(list []*syntax.Node, s state) {
	for _, n := range list {
		if !silent(n) {
			w.insert(n.Start, true, w.probe(n, s))
		}
		w.visit(n, s, "")
	}
}

// body visits a statement that is the body of another one.
func (w *writer) body(n *syntax.Node, s state) {
	if n == nil {
		return
	}
	if n.Kind == syntax.Block || n.Kind == syntax.Empty || isDeclaredFunction(n) {
		w.visit(n, s, "")
		return
	}
	made := ""
	if s.scope != s.seen {
		made, s = w.newAccess(s)
	}
	w.insert(n.Start, true, "{"+made+w.probe(n, s))
	w.visit(n, s, "")
	w.insert(n.End, false, "}")
}

func (w *writer) function(n *syntax.Node, s state, name string) {
	var names []string
	for _, p := range n.List {
		names = patternNames(p, names)
	}
	if n.A != nil {
		name = n.A.Name
		if !n.Has(syntax.Declared) {
			names = append(names, n.A.Name)
		}
	}
	block := n.B.Kind == syntax.Block
	if block {
		w.checkParameters(n, names)
		names = hoisted(n.B, names)
		names = lexical(n.B.List, names)
	}
	inner := state{
		scope: w.newScope("function", names, s.scope), name: name, calls: &[]int{w.positions.units(n.Start), w.positions.units(n.End)},
		suspendable: n.Has(syntax.Async | syntax.Generator), again: !s.constructs && w.callableAgain(n), access: s.access, depth: s.depth, seen: s.seen, hasPrivate: s.hasPrivate, hasArguments: s.hasArguments,
	}
	inner.line, inner.column = w.positions.at(n.Start)
	if !n.Has(syntax.Arrow) {
		w.self[inner.scope] = true
		inner.hasArguments = strings.Contains(w.source[n.Start:n.End], "arguments")
	}
	for _, p := range n.List {
		w.visit(p, inner, "")
	}
	if block {
		w.functionBody(n, inner)
		return
	}
	// The engine parses an expression in parentheses twice, to determine whether it is the head of
	// an arrow function. They are needed only where a line could end after return.
	open, end := "", ""
	if !sameLine.MatchString(w.source[n.Body:]) {
		open, end = "(", ")"
	}
	w.insert(n.Body, true, "{try{"+w.probe(n.B, inner)+"return"+open)
	w.visit(n.B, inner, "")
	w.insert(n.End, false, end+passing(false, inner.suspendable)+"}")
}

// callableAgain reports whether a function depends only on its receiver and its parameters.
func (w *writer) callableAgain(n *syntax.Node) bool {
	text := w.source[n.Start:n.End]
	return !n.Has(syntax.Async|syntax.Generator) && !strings.Contains(text, "arguments") && !strings.Contains(text, "new.target") &&
		(len(n.List) == 0 || n.List[len(n.List)-1].Kind != syntax.Rest)
}

// sameLine matches an expression that begins in the line of the preceding token.
var sameLine = regexp.MustCompile(`^[ \t]*[^\s/]`)

// checkParameters rejects variables with the names of parameters, which the block around the body
// would permit.
func (w *writer) checkParameters(n *syntax.Node, parameters []string) {
	for _, d := range n.B.List {
		if isDeclaredFunction(d) {
			continue
		}
		for _, name := range lexical([]*syntax.Node{d}, nil) {
			if slices.Contains(parameters, name) && (n.A == nil || n.A.Name != name) {
				w.err = fmt.Errorf("parse: offset %d: %s is a parameter", d.Start, name)
			}
		}
	}
}

func (w *writer) functionBody(n *syntax.Node, inner state) {
	list := n.B.List
	from, semicolon, empty := n.B.Start+1, "", true
	for _, d := range list {
		if !d.Has(syntax.Directive) {
			empty = false
			continue
		}
		from, semicolon = d.End, ""
		if w.source[d.End-1] != ';' {
			semicolon = ";"
		}
	}
	if empty {
		return // No statement to stop at.
	}
	made, t := "", inner
	if !isPlain(list) {
		made, t = w.newAccess(inner)
	}
	// In a block, a function must not have the name of a variable, or of a function in a nested
	// block, which would not set it. The engine cannot compile a loop that suspends while it
	// assigns the iteration variable inside a try block.
	vars := hoisted(n.B, nil)
	for _, d := range list {
		vars = nested(d, vars)
	}
	guarded := !slices.ContainsFunc(list, func(d *syntax.Node) bool { return isDeclaredFunction(d) && slices.Contains(vars, d.A.Name) }) &&
		(!inner.suspendable || !suspendsInHead(n.B))
	try := ""
	if guarded {
		try = "try{"
	}
	w.insert(from, true, semicolon+try+made)
	w.statements(list, t)
	if guarded {
		w.insert(n.B.End-1, false, passing(false, t.suspendable))
	}
}

// isPlain reports whether the body of a function is one statement without a nested function or
// block. Its only probe then contains the accessor itself, which no other needs.
func isPlain(body []*syntax.Node) bool {
	n := 0
	for _, s := range body {
		if !s.Has(syntax.Directive) {
			n++
			if s.Kind != syntax.Simple && s.Kind != syntax.Expression || hasFunction(s) {
				return false
			}
		}
	}
	return n == 1
}

// named visits an expression from which a function takes its name.
func (w *writer) named(n *syntax.Node, s state, name string) {
	if n != nil {
		w.visit(n, s, name)
	}
}

func (w *writer) visit(n *syntax.Node, s state, name string) {
	switch n.Kind {
	case syntax.Identifier, syntax.Literal:
	case syntax.Function:
		w.function(n, s, name)
	case syntax.StaticBlock:
		s.scope = w.newScope("block", hoisted(n, lexical(n.List, nil)), s.scope)
		s.hasArguments = false
		w.self[s.scope] = true
		w.statements(n.List, s)
	case syntax.Block:
		s = w.blockScope(lexical(n.List, nil), s)
		if s.scope != s.seen && len(n.List) > 0 {
			var made string
			made, s = w.newAccess(s)
			w.insert(n.Start+1, true, made)
		}
		w.statements(n.List, s)
	case syntax.If:
		w.visit(n.A, s, "")
		w.body(n.B, s)
		w.body(n.C, s)
	case syntax.While:
		w.visit(n.A, s, "")
		w.body(n.D, s)
	case syntax.With: // In its body a probe would be looked up in the object.
		w.visit(n.A, s, "")
	case syntax.DoWhile:
		w.body(n.D, s)
		w.visit(n.A, s, "")
	case syntax.For, syntax.ForIn, syntax.ForOf:
		w.loop(n, s)
	case syntax.Labeled:
		w.visit(n.D, s, "")
	case syntax.Switch:
		w.visit(n.A, s, "")
		var names []string
		for _, c := range n.List {
			names = lexical(c.List, names)
		}
		s = w.blockScope(names, s)
		for _, c := range n.List {
			if c.A != nil {
				w.visit(c.A, s, "")
			}
			w.statements(c.List, s)
		}
	case syntax.Try:
		w.try(n, s)
	case syntax.Class:
		w.class(n, s, name)
	case syntax.Property:
		if n.Has(syntax.Computed) {
			w.visit(n.A, s, "")
		}
		w.named(n.B, s, n.Name)
	case syntax.Declarator:
		w.visit(n.A, s, "")
		w.named(n.B, s, n.A.Name)
	case syntax.Assignment:
		w.visit(n.A, s, "")
		w.named(n.B, s, n.A.Name)
	default:
		n.Children(func(c *syntax.Node) { w.visit(c, s, "") })
	}
}

// blockScope returns the scope of a block's names, if there are any.
func (w *writer) blockScope(names []string, s state) state {
	if len(names) > 0 {
		s.scope = w.newScope("block", names, s.scope)
	}
	return s
}

func (w *writer) loop(n *syntax.Node, s state) {
	if n.A != nil && n.A.Kind == syntax.Variables && !n.A.Has(syntax.Var) {
		s.scope = w.newScope("block", lexical([]*syntax.Node{n.A}, nil), s.scope)
	}
	for _, c := range []*syntax.Node{n.A, n.B, n.C} {
		if c != nil {
			w.visit(c, s, "")
		}
	}
	w.body(n.D, s)
}

func (w *writer) try(n *syntax.Node, s state) {
	t := s
	if n.B != nil {
		t.caught = true
	}
	if len(n.A.List) > 0 {
		w.insert(n.A.Start+1, true, "try{")
		w.visit(n.A, t, "")
		w.insert(n.A.End-1, false, passing(t.caught, false))
	}
	if h := n.B; h != nil {
		caught := s
		if names := patternNames(h.A, nil); len(names) > 0 {
			caught.scope = w.newScope("catch", names, s.scope)
		}
		if h.A != nil {
			w.visit(h.A, caught, "")
		}
		w.visit(h.B, caught, "")
	}
	if n.C != nil {
		w.visit(n.C, s, "")
	}
}

func (w *writer) class(n *syntax.Node, s state, name string) {
	if n.A != nil {
		name = n.A.Name
		if !n.Has(syntax.Declared) {
			s.scope = w.newScope("block", []string{n.A.Name}, s.scope)
		}
	}
	hasPrivate := s.hasPrivate || slices.ContainsFunc(n.List, func(m *syntax.Node) bool { return m.Has(syntax.Private) })
	if n.B != nil {
		w.visit(n.B, s, "")
	}
	s.hasPrivate = hasPrivate
	for _, m := range n.List {
		f := s
		f.caught, f.suspendable, f.again = false, false, false
		if m.Kind == syntax.StaticBlock {
			f.calls = &[]int{w.positions.units(m.Start), w.positions.units(m.End)}
			f.name = "<static_initializer>"
			f.line, f.column = w.positions.at(m.Start)
			w.visit(m, f, "")
			continue
		}
		if m.Has(syntax.Computed) {
			w.visit(m.A, s, "")
		}
		switch {
		case m.Has(syntax.Constructor):
			f.constructs = true
			w.named(m.B, f, name)
		case m.Has(syntax.Getter):
			w.named(m.B, f, "get "+m.Name)
		case m.Has(syntax.Setter):
			w.named(m.B, f, "set "+m.Name)
		default:
			w.named(m.B, f, m.Name)
		}
	}
}

func (w *writer) program(tree *syntax.Node) {
	names := lexical(tree.List, hoisted(tree, nil))
	kind := "script"
	if w.module {
		kind = "module"
	}
	top := state{scope: w.newScope(kind, names, -1), seen: -1, calls: &[]int{0, w.positions.units(len(w.source))}, suspendable: w.module}
	w.self[top.scope] = true
	made, outermost := w.newAccess(top)
	if i := slices.IndexFunc(tree.List, func(n *syntax.Node) bool { return !n.Has(syntax.Directive) }); i >= 0 {
		w.insert(tree.List[i].Start, true, made)
	}
	w.statements(tree.List, outermost)
}

// positions converts byte offsets.
type positions struct {
	source string
	// lines are the byte offsets of lines, and before the UTF-16 units that precede them.
	lines, before []int
	// ascii is true if bytes and units are the same.
	ascii bool
}

func newPositions(source string) *positions {
	p := &positions{source: source, lines: []int{0}, before: []int{0}, ascii: true}
	units := 0
	for i := 0; i < len(source); i++ {
		c := source[i]
		switch {
		case c < 0x80:
			units++
			if c == '\n' || c == '\r' && (i+1 == len(source) || source[i+1] != '\n') {
				p.lines, p.before = append(p.lines, i+1), append(p.before, units)
			}
			continue
		case c >= 0xF0:
			units += 2
		case c >= 0xC0:
			units++
		case i >= 2 && c&^1 == 0xA8 && source[i-1] == 0x80 && source[i-2] == 0xE2: // U+2028 and U+2029.
			p.lines, p.before = append(p.lines, i+1), append(p.before, units)
		}
		p.ascii = false
	}
	return p
}

// at returns line and column, in UTF-16 units, of an offset, both counted from 0.
func (p *positions) at(offset int) (line, column int) {
	line = sort.SearchInts(p.lines, offset+1) - 1
	if p.ascii {
		return line, offset - p.lines[line]
	}
	return line, utf16Len(p.source[p.lines[line]:offset])
}

// units returns an offset in UTF-16 units.
func (p *positions) units(offset int) int {
	if p.ascii {
		return offset
	}
	line, column := p.at(offset)
	return p.before[line] + column
}
