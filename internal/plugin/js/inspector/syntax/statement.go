// SPDX-License-Identifier: Apache-2.0

package syntax

// A parser builds a tree from tokens.
type parser struct {
	tokens
	arena
}

// An arena contains free nodes, which are allocated in batches.
type arena []Node

// node returns a copy of a node.
func (a *arena) node(n Node) *Node {
	if len(*a) == 0 {
		*a = make([]Node, 256)
	}
	made := &(*a)[0]
	*made, *a = n, (*a)[1:]
	return made
}

func (p *parser) identifier() *Node {
	if !p.isIdentifier() {
		p.fail("expected a name")
	}
	n := p.node(Node{Kind: Identifier, Start: p.start, Name: p.text})
	p.next()
	return p.finish(n)
}

// statement parses a statement or, where permitted, a declaration; top is true at the top level of
// the program.
func (p *parser) statement(top bool) *Node {
	p.deeper()
	defer p.shallower()
	n := p.node(Node{Start: p.start})
	switch {
	case p.is("{"):
		return p.block()
	case p.eat(";"):
		n.Kind = Empty
		return p.finish(n)
	case p.kind != tokenName || p.escaped:
		return p.expressionStatement(n)
	}
	switch p.text {
	case "var":
		return p.variableStatement(n)
	case "const":
		return p.variableStatement(n)
	case "let":
		if next := p.peek(); next.kind == tokenName && next.text != "in" && next.text != "instanceof" && next.text != "of" || next.kind == tokenPunctuator && (next.text == "[" || next.text == "{") {
			return p.variableStatement(n)
		}
	case "function":
		return p.function(n, Declared)
	case "async":
		if next := p.peek(); next.kind == tokenName && next.text == "function" && !next.newline && !next.escaped {
			p.next()
			return p.function(n, Declared|Async)
		}
	case "class":
		return p.class(n, Declared)
	case "if":
		p.next()
		n.Kind = If
		n.A = p.condition()
		n.B = p.single()
		if p.eatWord("else") {
			n.C = p.single()
		}
		return p.finish(n)
	case "for":
		return p.forStatement(n)
	case "while":
		p.next()
		n.Kind = While
		n.A = p.condition()
		n.D = p.single()
		return p.finish(n)
	case "do":
		p.next()
		n.Kind = DoWhile
		n.D = p.single()
		p.expectWord("while")
		n.A = p.condition()
		p.eat(";")
		return p.finish(n)
	case "with":
		p.next()
		n.Kind = With
		n.A = p.condition()
		n.D = p.single()
		return p.finish(n)
	case "return", "throw":
		if p.text == "return" && !p.inFunction {
			p.fail("return outside of a function")
		}
		throws := p.text == "throw"
		p.next()
		n.Kind = Simple
		if throws && p.newline {
			p.fail("a line ends after throw")
		}
		if throws || !p.canEnd() && !p.is(";") {
			n.A = p.expression()
		}
		p.semicolon()
		return p.finish(n)
	case "break", "continue":
		p.next()
		n.Kind = Simple
		if !p.canEnd() && !p.is(";") {
			p.identifier()
		}
		p.semicolon()
		return p.finish(n)
	case "debugger":
		p.next()
		n.Kind = Debugger
		p.semicolon()
		return p.finish(n)
	case "switch":
		return p.switchStatement(n)
	case "try":
		return p.tryStatement(n)
	case "import":
		if next := p.peek(); next.kind != tokenPunctuator || next.text != "(" && next.text != "." {
			if !top || !p.module {
				p.fail("import is only in modules")
			}
			return p.importStatement(n)
		}
	case "export":
		if !top || !p.module {
			p.fail("export is only in modules")
		}
		return p.exportStatement(n)
	}
	if p.isIdentifier() {
		if next := p.peek(); next.kind == tokenPunctuator && next.text == ":" {
			p.next()
			p.next()
			n.Kind = Labeled
			n.D = p.single()
			return p.finish(n)
		}
	}
	return p.expressionStatement(n)
}

// single parses a statement where no declaration is permitted. Those that scripts may nevertheless
// contain there are rejected as well.
func (p *parser) single() *Node {
	if p.isWord("let") || p.isWord("const") || p.isWord("class") || p.isWord("function") {
		p.fail("a declaration where only a statement may be")
	}
	if p.isWord("async") {
		if next := p.peek(); next.kind == tokenName && next.text == "function" && !next.newline {
			p.fail("a declaration where only a statement may be")
		}
	}
	return p.statement(false)
}

func (p *parser) expressionStatement(n *Node) *Node {
	n.Kind = Expression
	n.A = p.expression()
	p.semicolon()
	return p.finish(n)
}

// condition parses an expression in parentheses.
func (p *parser) condition() *Node {
	p.expect("(")
	n := p.expression()
	p.expect(")")
	return n
}

func (p *parser) block() *Node {
	n := p.node(Node{Kind: Block, Start: p.start})
	p.expect("{")
	for !p.is("}") {
		n.List = append(n.List, p.statement(false))
	}
	p.next()
	return p.finish(n)
}

func (p *parser) variableStatement(n *Node) *Node {
	p.variables(n, true)
	p.semicolon()
	return p.finish(n)
}

// variables parses declarations without their end; in is true if in is an operator.
func (p *parser) variables(n *Node, in bool) {
	n.Kind = Variables
	if p.text == "var" {
		n.Flags |= Var
	}
	p.next()
	for {
		d := p.node(Node{Kind: Declarator, Start: p.start})
		d.A = p.target()
		if p.eat("=") {
			d.B = p.assignment(in)
		}
		n.List = append(n.List, p.finish(d))
		if !p.eat(",") {
			break
		}
	}
	p.finish(n)
}

// target parses the binding target of a declaration or a parameter.
func (p *parser) target() *Node {
	p.deeper()
	defer p.shallower()
	n := p.node(Node{Start: p.start})
	switch {
	case p.eat("["):
		n.Kind = ArrayPattern
		for !p.eat("]") {
			if p.is(",") {
				n.List = append(n.List, nil)
			} else if e := p.element(); e.Kind == Rest {
				n.List = append(n.List, e)
				p.expect("]")
				break
			} else {
				n.List = append(n.List, e)
			}
			if !p.is("]") {
				p.expect(",")
			}
		}
		return p.finish(n)
	case p.eat("{"):
		n.Kind = ObjectPattern
		for !p.eat("}") {
			n.List = append(n.List, p.targetProperty())
			if !p.is("}") {
				p.expect(",")
			}
		}
		return p.finish(n)
	}
	return p.identifier()
}

// element parses a target with a default, or a rest element.
func (p *parser) element() *Node {
	n := p.node(Node{Start: p.start})
	if p.eat("...") {
		n.Kind = Rest
		n.A = p.target()
		return p.finish(n)
	}
	return p.withDefault(p.start, p.target())
}

func (p *parser) withDefault(start int, target *Node) *Node {
	if !p.eat("=") {
		return target
	}
	return p.finish(p.node(Node{Kind: AssignmentPattern, Start: start, A: target, B: p.assignment(true)}))
}

func (p *parser) targetProperty() *Node {
	if p.is("...") {
		return p.element()
	}
	n := p.node(Node{Kind: Property, Start: p.start})
	isName := p.isIdentifier()
	name := p.node(Node{Kind: Identifier, Start: p.start, End: p.end, Name: p.text})
	p.key(n)
	if p.eat(":") {
		n.B = p.element()
		return p.finish(n)
	}
	if !isName {
		p.fail("expected :")
	}
	n.B = p.withDefault(name.Start, name)
	return p.finish(n)
}

func (p *parser) forStatement(n *Node) *Node {
	p.next()
	if p.isWord("await") && p.canAwait {
		p.next()
		n.Flags |= Async
	}
	p.expect("(")
	declares := p.isWord("var") || p.isWord("const")
	if p.isWord("let") {
		next := p.peek()
		declares = next.kind == tokenName && next.text != "in" && next.text != "of" || next.kind == tokenPunctuator && (next.text == "[" || next.text == "{")
		if next.kind == tokenName && next.text == "of" {
			p.fail("let of")
		}
	}
	switch {
	case p.is(";"):
	case declares:
		n.A = p.node(Node{Start: p.start})
		p.variables(n.A, false)
	default:
		startsAsync := p.isWord("async")
		n.A = p.expressionWithout()
		if startsAsync && n.A.Kind == Identifier && p.isWord("of") && !n.Has(Async) {
			p.fail("for (async of")
		}
		if p.isWord("of") || p.isWord("in") {
			n.A = p.toPattern(n.A)
		}
	}
	switch {
	case n.A != nil && p.eatWord("of"):
		n.Kind = ForOf
		n.B = p.assignment(true)
	case n.A != nil && p.eatWord("in"):
		n.Kind = ForIn
		n.B = p.expression()
	default:
		n.Kind = For
		p.expect(";")
		if !p.is(";") {
			n.B = p.expression()
		}
		p.expect(";")
		if !p.is(")") {
			n.C = p.expression()
		}
	}
	p.expect(")")
	n.D = p.single()
	return p.finish(n)
}

func (p *parser) switchStatement(n *Node) *Node {
	p.next()
	n.Kind = Switch
	n.A = p.condition()
	p.expect("{")
	for !p.eat("}") {
		c := p.node(Node{Kind: Case, Start: p.start})
		if p.eatWord("case") {
			c.A = p.expression()
		} else {
			p.expectWord("default")
		}
		p.expect(":")
		for !p.isWord("case") && !p.isWord("default") && !p.is("}") {
			c.List = append(c.List, p.statement(false))
		}
		n.List = append(n.List, p.finish(c))
	}
	return p.finish(n)
}

func (p *parser) tryStatement(n *Node) *Node {
	p.next()
	n.Kind = Try
	n.A = p.block()
	if p.isWord("catch") {
		c := p.node(Node{Kind: Catch, Start: p.start})
		p.next()
		if p.eat("(") {
			c.A = p.target()
			p.expect(")")
		}
		c.B = p.block()
		n.B = p.finish(c)
	}
	if p.eatWord("finally") {
		n.C = p.block()
	}
	if n.B == nil && n.C == nil {
		p.fail("expected catch or finally")
	}
	return p.finish(n)
}

func (p *parser) importStatement(n *Node) *Node {
	p.next()
	n.Kind = Import
	if p.kind == tokenString {
		p.next()
		p.semicolon()
		return p.finish(n)
	}
	more := true
	if p.isIdentifier() {
		n.List = append(n.List, p.identifier())
		more = p.eat(",")
	}
	switch {
	case !more:
	case p.eat("*"):
		p.expectWord("as")
		n.List = append(n.List, p.identifier())
	default:
		p.expect("{")
		for !p.eat("}") {
			if next := p.peek(); next.kind == tokenName && next.text == "as" {
				p.moduleName()
				p.next()
			}
			n.List = append(n.List, p.identifier())
			if !p.is("}") {
				p.expect(",")
			}
		}
	}
	p.from()
	p.semicolon()
	return p.finish(n)
}

func (p *parser) exportStatement(n *Node) *Node {
	p.next()
	n.Kind = Export
	switch {
	case p.eat("*"):
		n.Kind = ExportAll
		if p.eatWord("as") {
			p.moduleName()
		}
		p.from()
		p.semicolon()
	case p.eatWord("default"):
		n.Kind = ExportValue
		d := p.node(Node{Start: p.start})
		next := p.peek()
		switch {
		case p.isWord("function"):
			n.A = p.function(d, Declared|nameless)
		case p.isWord("async") && next.kind == tokenName && next.text == "function" && !next.newline:
			p.next()
			n.A = p.function(d, Declared|Async|nameless)
		case p.isWord("class"):
			n.A = p.class(d, Declared|nameless)
		default:
			n.A = p.assignment(true)
			p.semicolon()
		}
	case p.eat("{"):
		for !p.eat("}") {
			p.moduleName()
			if p.eatWord("as") {
				p.moduleName()
			}
			if !p.is("}") {
				p.expect(",")
			}
		}
		if p.isWord("from") {
			p.from()
		}
		p.semicolon()
	default:
		if !p.isWord("var") && !p.isWord("let") && !p.isWord("const") && !p.isWord("function") && !p.isWord("async") && !p.isWord("class") {
			p.fail("expected a declaration")
		}
		n.A = p.statement(false)
	}
	return p.finish(n)
}
