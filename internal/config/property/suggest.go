// SPDX-License-Identifier: Apache-2.0

package property

import (
	"regexp"
	"strings"
)

var (
	position    = regexp.MustCompile(`\[\d+\]`)
	envPosition = regexp.MustCompile(`_\d+(_|$)`)
)

// suggest returns the known name of a group or property that is nearest to an unknown one, or empty
// if none is near.
func (t *Tree) suggest(name string) string {
	written := position.FindAllString(name, -1)
	query := position.ReplaceAllString(canonical(name), "[?]")
	best := nearest{query: query, separators: ".["}
	best.offer(canonical(t.root.name), t.root.name)
	t.root.walk(func(n *node) { best.offer(canonical(n.name), n.name) })
	for _, p := range written {
		best.name = strings.Replace(best.name, "[?]", p, 1)
	}
	return best.name
}

// suggestEnv does the same for the name of an environment variable.
func (t *Tree) suggestEnv(variable string) string {
	best := nearest{query: envPosition.ReplaceAllString(strings.ToUpper(variable), "_?$1"), separators: "_"}
	t.root.walk(func(n *node) {
		if n.kind != kindGroup {
			best.offer(n.prop.Env, n.prop.Env)
		}
	})
	for _, p := range envPosition.FindAllString(variable, -1) {
		best.name = strings.Replace(best.name, "_?", strings.TrimSuffix(p, "_"), 1)
	}
	return best.name
}

// nearest finds the nearest of the offered names.
type nearest struct {
	query, separators string
	name              string
	distance          int
}

// maxDistance is the maximum edit distance of a suggestion.
const maxDistance = 3

// offer considers a known name. A typing error is only plausible in a part that is several times
// longer, so the common prefix does not count.
func (b *nearest) offer(key, name string) {
	shared := 0
	for i := 0; i < len(key) && i < len(b.query) && key[i] == b.query[i]; i++ {
		if strings.IndexByte(b.separators, key[i]) >= 0 {
			shared = i + 1
		}
	}
	x, y := b.query[shared:], key[shared:]
	limit := max(1, min(maxDistance, max(len(x), len(y))/3))
	if len(x)-len(y) > limit || len(y)-len(x) > limit {
		return
	}
	if d := editDistance(x, y); d <= limit && (b.name == "" || d < b.distance) {
		b.name, b.distance = name, d
	}
}

// editDistance returns the number of insertions, deletions, replacements and swaps of neighbours
// that turn x into y.
func editDistance(x, y string) int {
	before, last, row := make([]int, len(y)+1), make([]int, len(y)+1), make([]int, len(y)+1)
	for j := range last {
		last[j] = j
	}
	for i := 1; i <= len(x); i++ {
		row[0] = i
		for j := 1; j <= len(y); j++ {
			cost := 1
			if x[i-1] == y[j-1] {
				cost = 0
			}
			row[j] = min(last[j]+1, row[j-1]+1, last[j-1]+cost)
			if i > 1 && j > 1 && x[i-1] == y[j-2] && x[i-2] == y[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, last, row = last, row, before
	}
	return last[len(y)]
}
