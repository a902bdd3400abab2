// SPDX-License-Identifier: Apache-2.0

package syntax

import (
	"strconv"
	"strings"
)

// tokens reads a source for the parser: it compares tokens with the grammar, and knows the current
// function, which decides whether a word is an operator or a name.
type tokens struct {
	lexer
	// Whether await and yield are operators in the current function.
	canAwait, canYield bool
	// inFunction is true if return is permitted.
	inFunction bool
	depth      int
}

// is reports whether the current token is a punctuator.
func (t *tokens) is(text string) bool { return t.kind == tokenPunctuator && t.text == text }

// isWord reports whether the current token is a word without escape sequences.
func (t *tokens) isWord(text string) bool {
	return t.kind == tokenName && t.text == text && !t.escaped
}

func (t *tokens) eat(text string) bool {
	if !t.is(text) {
		return false
	}
	t.next()
	return true
}

func (t *tokens) eatWord(text string) bool {
	if !t.isWord(text) {
		return false
	}
	t.next()
	return true
}

func (t *tokens) expect(text string) {
	if !t.eat(text) {
		t.fail("expected " + text)
	}
}

func (t *tokens) expectWord(text string) {
	if !t.eatWord(text) {
		t.fail("expected " + text)
	}
}

// semicolon parses the end of a statement.
func (t *tokens) semicolon() {
	if !t.eat(";") && !t.canEnd() {
		t.fail("expected ;")
	}
}

func (t *tokens) canEnd() bool { return t.kind == tokenEnd || t.is("}") || t.newline }

// peek returns the next token without advancing.
func (t *tokens) peek() lexer {
	l := t.lexer
	l.next()
	return l
}

// reserved are the words that are not identifiers.
var reserved = map[string]bool{
	"break": true, "case": true, "catch": true, "class": true, "const": true, "continue": true, "debugger": true, "default": true, "delete": true, "do": true, "else": true,
	"enum": true, "export": true, "extends": true, "false": true, "finally": true, "for": true, "function": true, "if": true, "import": true, "in": true, "instanceof": true,
	"new": true, "null": true, "return": true, "super": true, "switch": true, "this": true, "throw": true, "true": true, "try": true, "typeof": true, "var": true, "void": true,
	"while": true, "with": true,
}

// isIdentifier reports whether the current token can be an identifier here.
func (t *tokens) isIdentifier() bool {
	if t.kind != tokenName || reserved[t.text] {
		return false
	}
	return (t.text != "await" || !t.canAwait && !t.module) && (t.text != "yield" || !t.canYield && !t.module)
}

// enter enters a function. The function that it returns must be called before the token after the
// function is read.
func (t *tokens) enter(flags Flag) (leave func()) {
	canAwait, canYield, inFunction := t.canAwait, t.canYield, t.inFunction
	t.canAwait, t.canYield, t.inFunction = flags&Async != 0, flags&Generator != 0, true
	return func() { t.canAwait, t.canYield, t.inFunction = canAwait, canYield, inFunction }
}

// moduleName parses an export name, which may be any word or a string.
func (t *tokens) moduleName() {
	if t.kind != tokenName && t.kind != tokenString {
		t.fail("expected a name")
	}
	t.next()
}

func (t *tokens) from() {
	t.expectWord("from")
	if t.kind != tokenString {
		t.fail("expected a string")
	}
	t.next()
}

// modifiers parses the modifiers before the key of a method: async and an asterisk.
func (t *tokens) modifiers() (flags Flag) {
	if t.isWord("async") {
		if next := t.peek(); !endsKey(next) && !next.newline {
			flags |= Async
			t.next()
		}
	}
	if t.eat("*") {
		flags |= Generator
	}
	return flags
}

// precedence returns the precedence of a binary operator; 0 if the token is none.
func (t *tokens) precedence(in bool) int {
	if t.kind == tokenName && !t.escaped {
		switch t.text {
		case "instanceof":
			return 7
		case "in":
			if in {
				return 7
			}
		}
		return 0
	}
	if t.kind != tokenPunctuator {
		return 0
	}
	switch t.text {
	case "??":
		return 1
	case "||":
		return 1
	case "&&":
		return 2
	case "|":
		return 3
	case "^":
		return 4
	case "&":
		return 5
	case "==", "!=", "===", "!==":
		return 6
	case "<", ">", "<=", ">=":
		return 7
	case "<<", ">>", ">>>":
		return 8
	case "+", "-":
		return 9
	case "*", "/", "%":
		return 10
	case "**":
		return 11
	}
	return 0
}

// numberName returns the name of a numeric key, as the engine formats it. Unusual kinds and sizes
// are rejected.
func (t *tokens) numberName() string {
	digits := strings.ReplaceAll(t.text, "_", "")
	if u, err := strconv.ParseUint(digits, 0, 53); err == nil && (digits == "0" || digits[0] != '0' || digits[1] > '9') {
		return strconv.FormatUint(u, 10)
	}
	v, err := strconv.ParseFloat(digits, 64)
	if err != nil || digits[0] == '0' && len(digits) > 1 && digits[1] != '.' || v < 1e-6 || v >= 1e21 {
		t.fail("an unusual number as a key")
	}
	return strconv.FormatFloat(v, 'f', -1, 64)
}

// finish ends a node at the end of the previous token.
func (t *tokens) finish(n *Node) *Node {
	n.End = t.lastEnd
	return n
}

// maxDepth is the maximum nesting of expressions and statements.
const maxDepth = 1500

func (t *tokens) deeper() {
	if t.depth++; t.depth > maxDepth {
		t.fail("nested too deeply")
	}
}

func (t *tokens) shallower() { t.depth-- }
