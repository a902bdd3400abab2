// SPDX-License-Identifier: Apache-2.0

package syntax

import (
	"strconv"
	"strings"
)

// expression parses expressions separated by commas.
func (p *parser) expression() *Node { return p.sequence(true) }

// expressionWithout parses the head of a loop, in which in is not an operator.
func (p *parser) expressionWithout() *Node { return p.sequence(false) }

func (p *parser) sequence(in bool) *Node {
	start := p.start
	n := p.assignment(in)
	if !p.is(",") {
		return n
	}
	s := p.node(Node{Kind: Other, Start: start, List: []*Node{n}})
	for p.eat(",") {
		s.List = append(s.List, p.assignment(in))
	}
	return p.finish(s)
}

// assignments are the assignment operators.
var assignments = map[string]bool{
	"=": true, "+=": true, "-=": true, "*=": true, "/=": true, "%=": true, "**=": true, "<<=": true, ">>=": true, ">>>=": true, "&=": true, "|=": true, "^=": true,
	"&&=": true, "||=": true, "??=": true,
}

// assignment parses an expression without commas.
func (p *parser) assignment(in bool) *Node {
	p.deeper()
	defer p.shallower()
	start := p.start
	if p.isWord("yield") && p.canYield {
		return p.yield(in)
	}
	if n := p.arrowOfName(in); n != nil {
		return n
	}
	parenthesis := p.is("(")
	n := p.conditional(start, in)
	if parenthesis && n.Kind == Function && n.Has(Arrow) {
		return n
	}
	if p.kind != tokenPunctuator || !assignments[p.text] || n.Kind == Function && n.Has(Arrow) {
		return n
	}
	a := p.node(Node{Kind: Assignment, Start: start})
	if p.text == "=" {
		if !n.Has(parenthesised) {
			n = p.toPattern(n)
		}
	}
	switch n.Kind {
	case Identifier, Member, ObjectPattern, ArrayPattern:
	default:
		// A call is rejected only when it runs.
		p.fail("what cannot be assigned to")
	}
	p.next()
	a.A = n
	a.B = p.assignment(in)
	return p.finish(a)
}

func (p *parser) yield(in bool) *Node {
	n := p.node(Node{Kind: Yield, Start: p.start})
	p.next()
	if p.newline || p.kind == tokenEnd || p.kind == tokenPunctuator && strings.Contains(") ] } , ; :", p.text) || p.isWord("in") || p.isWord("of") {
		return p.finish(n)
	}
	p.eat("*")
	n.A = p.assignment(in)
	return p.finish(n)
}

// arrowOfName parses an arrow function whose parameter has no parentheses; it returns nil if there
// is none.
func (p *parser) arrowOfName(in bool) *Node {
	if p.kind != tokenName || reserved[p.text] {
		return nil
	}
	start := p.start
	next := p.peek()
	if p.isWord("async") && next.kind == tokenName && !next.newline && !reserved[next.text] {
		after := next
		after.next()
		if after.kind == tokenPunctuator && after.text == "=>" {
			p.next()
			if p.text == "await" {
				p.fail("await is no parameter")
			}
			param := p.identifier()
			return p.arrow(start, []*Node{param}, Async, in)
		}
		return nil
	}
	if p.isIdentifier() && next.kind == tokenPunctuator && next.text == "=>" {
		param := p.identifier()
		return p.arrow(start, []*Node{param}, 0, in)
	}
	return nil
}

// arrow parses an arrow function from its arrow on.
func (p *parser) arrow(start int, params []*Node, flags Flag, in bool) *Node {
	if p.newline {
		p.fail("a line ends before an arrow")
	}
	n := p.node(Node{Kind: Function, Flags: Arrow | flags, Start: start, List: params, Body: p.end})
	if !p.is("=>") {
		p.fail("expected =>")
	}
	leave := p.enter(flags)
	p.next()
	if p.is("{") {
		n.B = p.functionBody(leave)
		return p.finish(n)
	}
	n.B = p.assignment(in)
	leave()
	return p.finish(n)
}

func (p *parser) conditional(start int, in bool) *Node {
	n := p.binary(start, p.unary(in), 0, in)
	if n.Kind == Function && n.Has(Arrow) && !n.Has(parenthesised) || !p.eat("?") {
		return n
	}
	c := p.node(Node{Kind: Other, Start: start, A: n})
	c.B = p.assignment(true)
	p.expect(":")
	c.C = p.assignment(in)
	return p.finish(c)
}

func (p *parser) binary(start int, left *Node, least int, in bool) *Node {
	if left.Kind == Function && left.Has(Arrow) && !left.Has(parenthesised) {
		return left
	}
	for {
		precedence := p.precedence(in)
		if precedence <= least {
			return left
		}
		power := p.text == "**"
		p.next()
		rightStart := p.start
		right := p.unary(in)
		if power {
			right = p.binary(rightStart, right, precedence-1, in)
		} else {
			right = p.binary(rightStart, right, precedence, in)
		}
		left = p.finish(p.node(Node{Kind: Other, Start: start, A: left, B: right}))
	}
}

func (p *parser) unary(in bool) *Node {
	p.deeper()
	defer p.shallower()
	start := p.start
	switch {
	case p.isWord("await") && p.canAwait:
		p.next()
		return p.finish(p.node(Node{Kind: Await, Start: start, A: p.unary(in)}))
	case p.is("!") || p.is("~") || p.is("+") || p.is("-") || p.is("++") || p.is("--") || p.isWord("typeof") || p.isWord("void") || p.isWord("delete"):
		p.next()
		return p.finish(p.node(Node{Kind: Other, Start: start, A: p.unary(in)}))
	case p.kind == tokenPrivate:
		// It precedes in.
		p.next()
		if !p.isWord("in") || !in {
			p.fail("a private name alone")
		}
		return p.finish(p.node(Node{Kind: Literal, Start: start}))
	}
	e := p.subscripts(start, p.primary(), true)
	if !p.newline && (p.is("++") || p.is("--")) {
		p.next()
		return p.finish(p.node(Node{Kind: Other, Start: start, A: e}))
	}
	return e
}

// subscripts parses member accesses and calls of an expression.
func (p *parser) subscripts(start int, n *Node, calls bool) *Node {
	if n.Kind == Function && n.Has(Arrow) && !n.Has(parenthesised) {
		return n
	}
	chain := false
	for {
		switch {
		case p.eat("."):
			n = p.member(start, n)
		case p.is("?."):
			if !calls {
				p.fail("an optional chain after new")
			}
			p.next()
			chain = true
			switch {
			case p.is("("), p.is("["), p.kind == tokenTemplate:
			default:
				n = p.member(start, n)
			}
		case p.eat("["):
			m := p.node(Node{Kind: Member, Flags: Computed, Start: start, A: n})
			m.B = p.expression()
			p.expect("]")
			n = p.finish(m)
		case p.is("(") && calls:
			maybeAsync := n.Kind == Identifier && n.Name == "async" && n.End == p.lastEnd && n.End-n.Start == len("async") && !n.Has(parenthesised) && !p.newline && !chain
			c := p.node(Node{Kind: Other, Start: start, A: n})
			if maybeAsync {
				if arrow := p.asyncArrow(start, c); arrow != nil {
					return arrow
				}
				n = c
				continue
			}
			c.List = p.arguments()
			n = p.finish(c)
		case p.kind == tokenTemplate:
			if chain {
				p.fail("a template in an optional chain")
			}
			n = p.node(Node{Kind: Other, Start: start, A: n})
			n.B = p.template()
			p.finish(n)
		default:
			if chain {
				n = p.node(Node{Kind: Other, Start: start, End: n.End, A: n})
			}
			return n
		}
	}
}

func (p *parser) member(start int, object *Node) *Node {
	m := p.node(Node{Kind: Member, Start: start, A: object, Name: p.text})
	if p.kind != tokenName && p.kind != tokenPrivate {
		p.fail("expected a name")
	}
	p.next()
	return p.finish(m)
}

func (p *parser) arguments() (list []*Node) {
	p.expect("(")
	for !p.eat(")") {
		list = append(list, p.spreadOr())
		if !p.is(")") {
			p.expect(",")
		}
	}
	return list
}

// spreadOr parses an expression without commas, or a spread element.
func (p *parser) spreadOr() *Node {
	start := p.start
	if !p.eat("...") {
		return p.assignment(true)
	}
	return p.finish(p.node(Node{Kind: Spread, Start: start, A: p.assignment(true)}))
}

// asyncArrow parses the call of a function named async, which it completes, or an async arrow
// function.
func (p *parser) asyncArrow(start int, call *Node) *Node {
	call.List = p.arguments()
	if p.is("=>") && !p.newline {
		params := make([]*Node, len(call.List))
		for i, n := range call.List {
			params[i] = p.toPattern(n)
		}
		return p.arrow(start, params, Async, true)
	}
	p.finish(call)
	return nil
}

func (p *parser) template() *Node {
	n := p.node(Node{Kind: Other, Start: p.start})
	for !p.lexer.template() {
		p.next()
		n.List = append(n.List, p.expression())
		if !p.is("}") {
			p.fail("expected }")
		}
		p.pos = p.end // The template continues after the brace.
	}
	p.next()
	return p.finish(n)
}

func (p *parser) primary() *Node {
	switch {
	case p.kind == tokenName && p.isIdentifier() && !p.isWord("async"):
		return p.identifier()
	case p.is("("):
		return p.parentheses()
	case p.kind == tokenTemplate:
		return p.template()
	}
	n := p.node(Node{Start: p.start})
	switch p.kind {
	case tokenNumber:
		n.Kind = Literal
		p.next()
		return p.finish(n)
	case tokenString:
		n.Kind, n.Flags = Literal, text
		p.next()
		return p.finish(n)
	case tokenName:
		return p.word(n)
	case tokenPunctuator:
		switch p.text {
		case "[":
			return p.array(n)
		case "{":
			return p.object(n)
		case "/", "/=":
			p.regexp()
			n.Kind = Literal
			p.next()
			return p.finish(n)
		}
	}
	p.fail("unexpected " + strconv.Quote(p.text))
	return nil
}

// word parses an expression that begins with a word.
func (p *parser) word(n *Node) *Node {
	if p.isIdentifier() {
		if p.isWord("async") {
			if next := p.peek(); next.kind == tokenName && next.text == "function" && !next.newline && !next.escaped {
				p.next()
				return p.function(n, Async)
			}
		}
		return p.identifier()
	}
	if p.escaped {
		p.fail("a word with an escape sequence")
	}
	switch p.text {
	case "function":
		return p.function(n, 0)
	case "class":
		return p.class(n, 0)
	case "this", "null", "true", "false", "super":
		n.Kind = Literal
		p.next()
		return p.finish(n)
	case "new":
		return p.newExpression(n)
	case "import":
		p.next()
		if p.eat(".") {
			p.expectWord("meta")
			if !p.module {
				p.fail("import.meta is only in modules")
			}
			n.Kind = Literal
			return p.finish(n)
		}
		p.expect("(")
		n.A = p.assignment(true)
		p.expect(")")
		return p.finish(n)
	}
	p.fail("unexpected " + p.text)
	return nil
}

func (p *parser) newExpression(n *Node) *Node {
	p.next()
	if p.eat(".") {
		p.expectWord("target")
		n.Kind = Literal
		return p.finish(n)
	}
	if p.isWord("import") {
		p.fail("import after new")
	}
	start := p.start
	n.A = p.subscripts(start, p.primary(), false)
	if p.is("(") {
		n.List = p.arguments()
	}
	return p.finish(n)
}

func (p *parser) array(n *Node) *Node {
	p.next()
	n.Kind = Array
	for !p.eat("]") {
		if p.is(",") {
			n.List = append(n.List, nil)
		} else {
			n.List = append(n.List, p.spreadOr())
		}
		if !p.is("]") {
			p.expect(",")
		}
	}
	return p.finish(n)
}

func (p *parser) object(n *Node) *Node {
	p.next()
	n.Kind = Object
	for !p.eat("}") {
		if p.is("...") {
			n.List = append(n.List, p.spreadOr())
		} else {
			n.List = append(n.List, p.property())
		}
		if !p.is("}") {
			p.expect(",")
		}
	}
	return p.finish(n)
}

func (p *parser) property() *Node {
	n := p.node(Node{Kind: Property, Start: p.start})
	flags := p.modifiers()
	if flags == 0 && (p.isWord("get") || p.isWord("set")) {
		if next := p.peek(); !endsKey(next) {
			n.Flags |= Getter
			if p.text == "set" {
				n.Flags = Setter
			}
			p.next()
		}
	}
	isName := p.isIdentifier()
	name := p.node(Node{Kind: Identifier, Start: p.start, End: p.end, Name: p.text})
	if p.kind == tokenPrivate {
		p.fail("a private name in an object")
	}
	p.key(n)
	switch {
	case p.is("("):
		n.B = p.method(flags)
	case flags != 0 || n.Has(Getter|Setter):
		p.fail("expected (")
	case p.eat(":"):
		n.B = p.assignment(true)
	case isName:
		n.Flags |= shorthand
		n.B = name
		if p.eat("=") {
			n.Flags |= initialised
			n.B = p.finish(p.node(Node{Kind: AssignmentPattern, Start: name.Start, A: name, B: p.assignment(true)}))
		}
	default:
		p.fail("expected :")
	}
	return p.finish(n)
}

// parentheses parses an expression in parentheses, or an arrow function with parameters in
// parentheses.
func (p *parser) parentheses() *Node {
	start := p.start
	p.next()
	var list []*Node
	inner, onlyParameters := p.start, false
	var innerEnd int
	for !p.is(")") {
		e := p.spreadOr()
		onlyParameters = onlyParameters || e.Kind == Spread
		list = append(list, e)
		innerEnd = p.lastEnd
		if !p.is(")") {
			p.expect(",")
			onlyParameters = onlyParameters || p.is(")")
		}
	}
	p.next()
	if p.is("=>") && !p.newline {
		for i, e := range list {
			if e.Has(parenthesised) {
				p.fail("parentheses around a parameter")
			}
			list[i] = p.toPattern(e)
		}
		return p.arrow(start, list, 0, true)
	}
	if len(list) == 0 || onlyParameters {
		p.fail("expected =>")
	}
	n := list[0]
	if len(list) > 1 {
		n = p.node(Node{Kind: Other, Start: inner, End: innerEnd, List: list})
	}
	n.Flags |= parenthesised
	return n
}

// toPattern converts an expression that is an assignment target or a parameter to a pattern.
func (p *parser) toPattern(n *Node) *Node {
	if n == nil {
		return nil
	}
	if n.Has(parenthesised) {
		if n.Kind != Identifier && n.Kind != Member {
			p.fail("parentheses around a pattern")
		}
		return n
	}
	switch n.Kind {
	case Object:
		n.Kind = ObjectPattern
		for i, c := range n.List {
			switch {
			case c.Kind == Spread:
				n.List[i] = p.toPattern(c)
			case c.Has(Getter|Setter) || c.B.Kind == Function && c.B.Start > c.Start && !c.B.Has(Arrow) && !c.B.Has(parenthesised) && p.source[c.B.Start] == '(':
				p.fail("a method in a pattern")
			case !c.Has(shorthand):
				c.B = p.toPattern(c.B)
			}
		}
	case Array:
		n.Kind = ArrayPattern
		for i, c := range n.List {
			n.List[i] = p.toPattern(c)
		}
	case Assignment:
		n.Kind = AssignmentPattern
	case Spread:
		n.Kind = Rest
		n.A = p.toPattern(n.A)
	case Identifier, Member, ObjectPattern, ArrayPattern, AssignmentPattern, Rest:
	default:
		p.fail("what cannot be assigned to")
	}
	return n
}
