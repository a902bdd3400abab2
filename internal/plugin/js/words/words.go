// SPDX-License-Identifier: Apache-2.0

// Package words finds many words in a text at once (Aho-Corasick). It does not depend on plugins or
// JavaScript.
package words

import (
	"errors"
	"strings"
	"unicode"
)

// Options configures the comparison of words.
type Options struct {
	// IgnoreCase treats upper and lower case as equal.
	IgnoreCase bool
	// Whole matches a word only if no letter or digit is adjacent.
	Whole bool
}

// A Matcher is a set of words. It is immutable and safe for concurrent use.
type Matcher struct {
	opts  Options
	nodes []node
	edges map[edge]int32
	words []string
}

type node struct {
	// fail is the node to continue at if no edge fits; found is the number of the longest word that
	// ends here, or -1.
	fail  int32
	found int32
	// next is the nearest node on the path of fail links at which a word ends, or 0.
	next   int32
	length int32
}

type edge struct {
	from int32
	r    rune
}

// A Match is an occurrence of a word in a text. Start and End count runes.
type Match struct {
	Word       string
	Start, End int
}

// New returns a matcher. Empty words are rejected, because they match everywhere.
func New(list []string, opts Options) (*Matcher, error) {
	m := &Matcher{opts: opts, nodes: []node{{found: -1}}, edges: map[edge]int32{}}
	for _, w := range list {
		if w == "" {
			return nil, errors.New("a word is empty")
		}
		at, length := int32(0), int32(0)
		for _, r := range w {
			r = m.fold(r)
			next, ok := m.edges[edge{at, r}]
			if !ok {
				next = int32(len(m.nodes))
				m.nodes = append(m.nodes, node{found: -1})
				m.edges[edge{at, r}] = next
			}
			at = next
			length++
		}
		if m.nodes[at].found < 0 {
			m.nodes[at].found = int32(len(m.words))
			m.nodes[at].length = length
			m.words = append(m.words, w)
		}
	}
	m.link()
	return m, nil
}

// Size returns the approximate memory of the matcher in bytes.
func (m *Matcher) Size() int64 { return int64(len(m.nodes)) * 64 }

// fold maps runes that differ only in case to the same rune.
func (m *Matcher) fold(r rune) rune {
	if !m.opts.IgnoreCase {
		return r
	}
	if r < unicode.MaxASCII {
		if 'A' <= r && r <= 'Z' {
			r += 'a' - 'A'
		}
		return r
	}
	// The smallest rune of a case-folding orbit represents all of them.
	least := r
	for s := unicode.SimpleFold(r); s != r; s = unicode.SimpleFold(s) {
		least = min(least, s)
	}
	if 'A' <= least && least <= 'Z' {
		least += 'a' - 'A'
	}
	return least
}

// link sets the fail links, level by level.
func (m *Matcher) link() {
	children := make([][]edge, len(m.nodes))
	for e, to := range m.edges {
		children[e.from] = append(children[e.from], edge{to, e.r})
	}
	queue := []int32{0}
	for len(queue) > 0 {
		at := queue[0]
		queue = queue[1:]
		for _, c := range children[at] {
			to := c.from
			if at != 0 {
				fail := m.nodes[at].fail
				for {
					if next, ok := m.edges[edge{fail, c.r}]; ok {
						m.nodes[to].fail = next
						break
					}
					if fail == 0 {
						break
					}
					fail = m.nodes[fail].fail
				}
			}
			f := m.nodes[to].fail
			if m.nodes[f].found >= 0 {
				m.nodes[to].next = f
			} else {
				m.nodes[to].next = m.nodes[f].next
			}
			queue = append(queue, to)
		}
	}
}

// step returns the node after a rune.
func (m *Matcher) step(at int32, r rune) int32 {
	for {
		if next, ok := m.edges[edge{at, r}]; ok {
			return next
		}
		if at == 0 {
			return 0
		}
		at = m.nodes[at].fail
	}
}

// each calls f for every occurrence of every word, ordered by end and then from long to short,
// until f returns false.
func (m *Matcher) each(text []rune, f func(Match) bool) {
	at := int32(0)
	for i, r := range text {
		at = m.step(at, m.fold(r))
		for n := at; n != 0; n = m.nodes[n].next {
			if m.nodes[n].found < 0 {
				continue
			}
			match := Match{m.words[m.nodes[n].found], i + 1 - int(m.nodes[n].length), i + 1}
			if m.opts.Whole && !whole(text, match) {
				continue
			}
			if !f(match) {
				return
			}
		}
	}
}

func whole(text []rune, m Match) bool {
	letter := func(i int) bool {
		return i >= 0 && i < len(text) && (unicode.IsLetter(text[i]) || unicode.IsDigit(text[i]) || unicode.IsMark(text[i]))
	}
	return !letter(m.Start-1) && !letter(m.End)
}

// Contains reports whether the text contains a word.
func (m *Matcher) Contains(text string) bool {
	found := false
	m.each([]rune(text), func(Match) bool {
		found = true
		return false
	})
	return found
}

// Find returns the non-overlapping words in a text from left to right; of those that begin at the
// same position the longest.
func (m *Matcher) Find(text string) []Match {
	// best[i] is the longest word that begins at i.
	best := map[int]Match{}
	runes := []rune(text)
	m.each(runes, func(x Match) bool {
		if b, ok := best[x.Start]; !ok || x.End > b.End {
			best[x.Start] = x
		}
		return true
	})
	var list []Match
	for i := 0; i < len(runes) && len(best) > 0; i++ {
		if x, ok := best[i]; ok {
			list = append(list, x)
			i = x.End - 1
		}
	}
	return list
}

// Mask replaces each rune of the words in a text, including overlapping ones, by a mark.
func (m *Matcher) Mask(text, mark string) string {
	runes := []rune(text)
	// cover counts the words that begin and end at each position.
	cover := make([]int, len(runes)+1)
	m.each(runes, func(x Match) bool {
		cover[x.Start]++
		cover[x.End]--
		return true
	})
	var b strings.Builder
	depth := 0
	for i, r := range runes {
		if depth += cover[i]; depth > 0 {
			b.WriteString(mark)
		} else {
			b.WriteRune(r)
		}
	}
	return b.String()
}
