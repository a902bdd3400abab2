// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"fmt"
	"net/url"
	"regexp"
	"strings"
)

// endpointPath is the pattern of endpoint paths: segments that are literal, or a parameter in
// braces.
var endpointPath = regexp.MustCompile(`^(/([A-Za-z0-9_~-][A-Za-z0-9._~-]*|\{[A-Za-z_][A-Za-z0-9_]*\}))+$`)

// parameterIn returns the name of a segment's parameter; "" if it is literal.
func parameterIn(segment string) string {
	if name, ok := strings.CutPrefix(segment, "{"); ok {
		return strings.TrimSuffix(name, "}")
	}
	return ""
}

// pathParameters returns the names of the parameters in the path.
func (e *Endpoint) pathParameters() (names []string) {
	for segment := range strings.SplitSeq(e.Path, "/") {
		if name := parameterIn(segment); name != "" {
			names = append(names, name)
		}
	}
	return names
}

// checkPath returns an error for path parameters without type, or with one that a segment cannot
// have.
func (e *Endpoint) checkPath() error {
	seen := map[string]bool{}
	for _, name := range e.pathParameters() {
		if seen[name] {
			return fmt.Errorf("path: it has the parameter {%s} twice", name)
		}
		seen[name] = true
		if e.Query == nil || e.Query.parameters()[name] == nil {
			return fmt.Errorf("path: the parameter {%s} needs a property %q in the schema of the query, which says its type", name, name)
		}
		if kind, _ := parameterType(e.Query.parameters()[name]); kind == "array" {
			return fmt.Errorf("path: the parameter {%s} must not be an array", name)
		}
	}
	return nil
}

// match returns the values of the parameters in an escaped path; ok is false if the path does not
// match.
func (e *Endpoint) match(path string) (values map[string]string, ok bool) {
	if !strings.Contains(e.Path, "{") {
		return nil, path == e.Path
	}
	declared, given := strings.Split(e.Path, "/"), strings.Split(path, "/")
	if len(declared) != len(given) {
		return nil, false
	}
	values = map[string]string{}
	for i, segment := range declared {
		name := parameterIn(segment)
		if name == "" {
			if segment != given[i] {
				return nil, false
			}
			continue
		}
		value, err := url.PathUnescape(given[i])
		if err != nil || value == "" {
			return nil, false
		}
		values[name] = value
	}
	return values, true
}

// covers reports whether some path matches both paths, and which of them is more specific: the one
// that is literal where the other has a parameter. If that is mixed, or never the case, neither is.
func covers(a, b string) (both, aIsMore, bIsMore bool) {
	as, bs := strings.Split(a, "/"), strings.Split(b, "/")
	if len(as) != len(bs) {
		return false, false, false
	}
	for i := range as {
		inA, inB := parameterIn(as[i]) != "", parameterIn(bs[i]) != ""
		switch {
		case !inA && !inB && as[i] != bs[i]:
			return false, false, false
		case !inA && inB:
			aIsMore = true
		case inA && !inB:
			bIsMore = true
		}
	}
	return true, aIsMore, bIsMore
}

// clash returns an error for two endpoints with ambiguous paths. As in Go's http.ServeMux, a more
// specific path gets the requests that match both.
func (e *Endpoint) clash(other *Endpoint) error {
	both, more, less := covers(e.Path, other.Path)
	switch {
	case !both, more != less:
		return nil
	case e.Path == other.Path && e.Method == other.Method:
		return fmt.Errorf("the endpoints %s and %s are both %s %s: one of them must have another path", other.Handler, e.Handler, e.Method, e.Path)
	case e.Path == other.Path, more && e.Method != other.Method:
		return nil
	case more:
		return fmt.Errorf("the endpoints %s (%s %s) and %s (%s %s) match the same paths, and neither is more specific: one of them must have another path",
			other.Handler, other.Method, other.Path, e.Handler, e.Method, e.Path)
	default:
		return fmt.Errorf("the endpoints %s (%s %s) and %s (%s %s) match the same paths: their parameters must have the same names, and their methods differ, or one of them must have another path",
			other.Handler, other.Method, other.Path, e.Handler, e.Method, e.Path)
	}
}

// parameters merges the path parameters into those of the query.
func (in EndpointInput) parameters() (map[string][]string, []string) {
	if len(in.Path) == 0 {
		return in.Query, nil
	}
	all := make(map[string][]string, len(in.Path)+len(in.Query))
	var problems []string
	for name, values := range in.Query {
		if _, ok := in.Path[name]; ok {
			problems = append(problems, fmt.Sprintf("query.%s: is a part of the path and must not be in the query", name))
		}
		all[name] = values
	}
	for name, value := range in.Path {
		all[name] = []string{value}
	}
	return all, problems
}
