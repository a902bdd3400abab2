// SPDX-License-Identifier: Apache-2.0

// Package syntax parses ECMAScript 2022 scripts and modules into trees with what a debugger needs:
// statements, functions, classes, names and their positions. It does not report all errors: an
// engine may reject sources that it accepts.
package syntax

import (
	"fmt"
	"unicode/utf8"
)

// A Kind is the kind of a node.
type Kind uint8

// The kinds, each with the meaning of A to D, List and Name. Fields that are not mentioned are nil.
const (
	Other       Kind = iota // A, B, List: any other expression
	Identifier              // Name
	Literal                 // nothing
	Object                  // List: Property, Spread
	Array                   // List: elements, nil for holes
	Property                // A: key if computed; B: value; Name: key if not computed
	Spread                  // A
	Assignment              // A: target; B: value
	Member                  // A: object; B: property if computed; Name: property if not
	Function                // A: Identifier; List: parameters; B: Block, or the expression of an arrow function
	Class                   // A: Identifier; B: superclass; List: Method, Field, StaticBlock
	Method                  // A: key if computed; B: Function; Name: key if not computed
	Field                   // A: key if computed; B: value; Name: key if not computed
	StaticBlock             // List: statements
	Await                   // A
	Yield                   // A
	// Patterns.
	ObjectPattern     // List: Property, Rest
	ArrayPattern      // List: elements, nil for holes
	AssignmentPattern // A: target; B: default
	Rest              // A
	// Statements.
	Expression // A
	Block      // List
	Empty
	If          // A: test; B: consequent; C: alternate
	For         // A: initialisation; B: test; C: update; D: body
	ForIn       // A: target; B: object; D: body
	ForOf       // A: target; B: iterable; D: body
	While       // A: test; D: body
	DoWhile     // A: test; D: body
	Simple      // A: return, throw, break, continue
	Labeled     // D: body
	Switch      // A: discriminant; List: Case
	Case        // A: test; List: statements
	Try         // A: Block; B: Catch; C: Block
	Catch       // A: parameter; B: Block
	With        // A: object; D: body
	Debugger    // nothing
	Variables   // List: Declarator
	Declarator  // A: target; B: value
	Import      // List: Identifier of each declared name
	Export      // A: declaration; nil if there are only names
	ExportAll   // nothing
	ExportValue // A: declaration or expression of the default export
	Program     // List: statements
)

// A Flag is a property of a node.
type Flag uint16

// The flags.
const (
	// Async and Generator are set on functions; Async also on for-await loops.
	Async Flag = 1 << iota
	Generator
	// Arrow is set on functions, and Declared on functions and classes that are declarations.
	Arrow
	Declared
	// Computed is set on members, properties and keys, and Private on keys with a private name.
	Computed
	Private
	// Getter, Setter and Constructor are set on methods; Getter and Setter also on properties.
	Getter
	Setter
	Constructor
	// Directive is set on expression statements in the prologue of a function or program.
	Directive
	// Var is set on variables that belong to the function.
	Var
	// shorthand is set on properties that are only a name, initialised on those with a default,
	// which only patterns have.
	shorthand
	initialised
	// parenthesised is set on expressions in parentheses.
	parenthesised
	// text is set on string literals.
	text
	// nameless is set on declarations that need no name, because they are the default export.
	nameless
)

// A Node is a node of the tree. Its kind determines the meaning of the other fields.
type Node struct {
	Kind  Kind
	Flags Flag
	// Start and End are byte offsets.
	Start, End int
	// Body is the start of a class body, or the end of the arrow of an arrow function.
	Body       int
	Name       string
	A, B, C, D *Node
	List       []*Node
}

// Has reports whether a flag is set.
func (n *Node) Has(f Flag) bool { return n.Flags&f != 0 }

// Children calls each with each child, in source order.
func (n *Node) Children(each func(*Node)) {
	call := func(c *Node) {
		if c != nil {
			each(c)
		}
	}
	if n.Kind == DoWhile {
		call(n.D)
		call(n.A)
		return
	}
	call(n.A)
	if n.Kind == Function {
		for _, c := range n.List {
			call(c)
		}
		call(n.B)
		return
	}
	call(n.B)
	for _, c := range n.List {
		call(c)
	}
	call(n.C)
	call(n.D)
}

// A syntaxError is the panic value of the parser.
type syntaxError struct {
	at   int
	text string
}

// Parse parses a script or a module. A source that is not valid UTF-8 is rejected.
func Parse(source string, module bool) (program *Node, err error) {
	if !utf8.ValidString(source) {
		return nil, fmt.Errorf("parse: the source is not valid UTF-8")
	}
	p := &parser{tokens: tokens{lexer: lexer{source: source, module: module}, canAwait: module}}
	defer func() {
		if r := recover(); r != nil {
			e, ok := r.(syntaxError)
			if !ok {
				panic(r)
			}
			program, err = nil, fmt.Errorf("parse: offset %d: %s", e.at, e.text)
		}
	}()
	p.skipHashbang()
	p.next()
	program = &Node{Kind: Program, End: len(source)}
	for p.kind != tokenEnd {
		program.List = append(program.List, p.statement(true))
	}
	markDirectives(source, program.List)
	return program, nil
}

// markDirectives marks the prologue of a function or program.
func markDirectives(source string, list []*Node) {
	for _, n := range list {
		if n.Kind != Expression || !n.A.Has(text) || n.A.Kind != Literal || source[n.Start] != '"' && source[n.Start] != '\'' {
			return
		}
		n.Flags |= Directive
	}
}
