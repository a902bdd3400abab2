// SPDX-License-Identifier: Apache-2.0

package syntax

// functionBody parses a block with directives.
func (p *parser) functionBody(leave func()) *Node {
	n := p.node(Node{Kind: Block, Start: p.start})
	p.expect("{")
	for !p.is("}") {
		n.List = append(n.List, p.statement(false))
	}
	leave()
	p.next()
	markDirectives(p.source, n.List)
	return p.finish(n)
}

// function parses a function from its keyword on.
func (p *parser) function(n *Node, flags Flag) *Node {
	n.Kind = Function
	p.expectWord("function")
	if p.eat("*") {
		flags |= Generator
	}
	n.Flags = flags
	if flags&Declared != 0 {
		if flags&nameless == 0 || p.kind == tokenName {
			n.A = p.identifier()
		}
		p.parameters(n, flags)
		return n
	}
	leave := p.enter(flags)
	if p.kind == tokenName {
		n.A = p.identifier()
	}
	leave()
	p.parameters(n, flags)
	return n
}

// parameters parses the parameters and the body of a function other than an arrow function.
func (p *parser) parameters(n *Node, flags Flag) {
	leave := p.enter(flags)
	p.expect("(")
	for !p.eat(")") {
		n.List = append(n.List, p.element())
		if !p.is(")") {
			p.expect(",")
		}
	}
	n.B = p.functionBody(leave)
	p.finish(n)
}

// method parses a function from its parameters on.
func (p *parser) method(flags Flag) *Node {
	n := p.node(Node{Kind: Function, Flags: flags, Start: p.start})
	p.parameters(n, flags)
	return n
}

func (p *parser) class(n *Node, flags Flag) *Node {
	n.Kind, n.Flags = Class, flags
	p.expectWord("class")
	if p.kind == tokenName && !p.isWord("extends") || flags&Declared != 0 && flags&nameless == 0 {
		n.A = p.identifier()
	}
	if p.eatWord("extends") {
		start := p.start
		n.B = p.subscripts(start, p.primary(), true)
		if n.B.Kind == Function && n.B.Has(Arrow) {
			p.fail("a class cannot extend an arrow function")
		}
	}
	n.Body = p.start
	p.expect("{")
	for !p.is("}") {
		if p.eat(";") {
			continue
		}
		n.List = append(n.List, p.classMember())
	}
	p.next()
	return p.finish(n)
}

// endsKey reports whether a token shows that the preceding word is a key, not a modifier.
func endsKey(l lexer) bool {
	return l.kind == tokenEnd || l.kind == tokenPunctuator && (l.text == "(" || l.text == "=" || l.text == ";" || l.text == "}" || l.text == "," || l.text == ":")
}

func (p *parser) classMember() *Node {
	n := p.node(Node{Start: p.start})
	static := false
	if p.isWord("static") {
		next := p.peek()
		if next.kind == tokenPunctuator && next.text == "{" {
			return p.staticBlock(n)
		}
		if !endsKey(next) {
			static = true
			p.next()
		}
	}
	flags := p.modifiers()
	if flags == 0 && (p.isWord("get") || p.isWord("set")) {
		if next := p.peek(); !endsKey(next) && (next.kind != tokenPunctuator || next.text == "[") {
			n.Flags |= Getter
			if p.text == "set" {
				n.Flags = Setter
			}
			p.next()
		}
	}
	isConstructor := !static && flags == 0 && n.Flags == 0 && (p.isWord("constructor") || p.kind == tokenString && p.value(p.text) == "constructor")
	p.key(n)
	if p.is("(") {
		n.Kind = Method
		if isConstructor {
			n.Flags |= Constructor
		}
		n.B = p.method(flags)
		return p.finish(n)
	}
	if flags != 0 || n.Has(Getter|Setter) {
		p.fail("expected (")
	}
	n.Kind = Field
	if p.eat("=") {
		leave := p.enter(0)
		p.inFunction = false
		n.B = p.assignment(true)
		leave()
	}
	p.semicolon()
	return p.finish(n)
}

func (p *parser) staticBlock(n *Node) *Node {
	n.Kind = StaticBlock
	p.next()
	leave := p.enter(0)
	p.inFunction = false
	p.expect("{")
	for !p.is("}") {
		n.List = append(n.List, p.statement(false))
	}
	leave()
	p.next()
	return p.finish(n)
}

// key parses the key of a property or member.
func (p *parser) key(n *Node) {
	switch p.kind {
	case tokenName:
		n.Name = p.text
	case tokenPrivate:
		n.Name = "#" + p.text
		n.Flags |= Private
	case tokenString:
		n.Name = p.value(p.text)
	case tokenNumber:
		n.Name = p.numberName()
	default:
		p.expect("[")
		n.Flags |= Computed
		n.A = p.assignment(true)
		p.expect("]")
		return
	}
	p.next()
}
