// SPDX-License-Identifier: Apache-2.0

package property

import (
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
)

// homeToken matches the placeholder of the home directory in a path. A letter must not follow, so
// that longer words are left unchanged.
var homeToken = regexp.MustCompile(`@HOME\b`)

// A PathResolver is a group with a path inside a value that is not a path as a whole.
type PathResolver interface {
	ResolvePaths(home string)
}

// ResolvePaths resolves every path of the struct that target points to.
func (t *Tree) ResolvePaths(target any, home string) { t.root.resolvePaths(valueOf(target), home) }

// ResolvePath replaces @HOME and makes a relative path absolute, based on home. An empty path stays
// empty and an empty home means the working directory.
func ResolvePath(home, path string) string {
	if path == "" {
		return ""
	}
	if home == "" {
		home = "."
	}
	expanded := homeToken.ReplaceAllLiteralString(path, strings.TrimSuffix(home, "/"))
	if expanded == path && !filepath.IsAbs(path) {
		expanded = filepath.Join(home, path)
	}
	return filepath.Clean(expanded)
}

// resolvePaths resolves every path at and below v.
func (n *node) resolvePaths(v reflect.Value, home string) {
	switch {
	case n.kind == kindGroup:
		for _, c := range n.children {
			c.resolvePaths(v.FieldByIndex(c.index), home)
		}
		if r, ok := v.Addr().Interface().(PathResolver); ok {
			r.ResolvePaths(home)
		}
	case n.kind == kindList:
		for i := range v.Len() {
			n.elem.resolvePaths(v.Index(i), home)
		}
	case n.kind == kindScalar && n.rules.path:
		v.SetString(ResolvePath(home, v.String()))
	}
}
