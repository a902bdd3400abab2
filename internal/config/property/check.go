// SPDX-License-Identifier: Apache-2.0

package property

import (
	"errors"
	"fmt"
	"strings"
)

// Check finds properties and groups without documentation, and properties that one of their names
// does not resolve to. It is for the test of a declaration.
func (t *Tree) Check() error {
	var found []error
	t.root.walk(func(n *node) {
		if !strings.HasSuffix(n.prop.Doc, ".") || strings.Contains(n.prop.Doc, "\n") {
			found = append(found, fmt.Errorf("%s: the documentation %q is not a sentence", n.name, n.prop.Doc))
		}
		if n.kind != kindGroup {
			found = append(found, t.checkNames(n))
		}
	})
	return errors.Join(found...)
}

func (t *Tree) checkNames(n *node) error {
	first := strings.NewReplacer("[?]", "[0]")
	name, _ := strings.CutPrefix(first.Replace(n.name), t.root.name+".")
	for _, path := range []string{name, first.Replace(n.prop.JSONPath)} {
		switch p, err := t.newPatch().descend(path, input{}, assignment{}); {
		case err != nil:
			return fmt.Errorf("%s: the spelling %q leads nowhere: %w", n.name, path, err)
		case p.node != n:
			return fmt.Errorf("%s: the spelling %q leads to %s", n.name, path, p.node.name)
		}
	}
	variable := strings.TrimPrefix(strings.ReplaceAll(n.prop.Env, "?", "0"), envName(t.root.name)+"_")
	if path, ok := t.root.matchEnv(variable); !ok || path != name {
		return fmt.Errorf("%s: the environment variable %s leads to %q", n.name, n.prop.Env, path)
	}
	return nil
}
