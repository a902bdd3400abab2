// SPDX-License-Identifier: Apache-2.0

package property

import "slices"

// Property describes one leaf of the tree. A list of structs is a leaf of the type "list of object"
// that is followed by the leaves of its elements, whose names have [?] as the position.
type Property struct {
	// Name is the kebab-case name with the root: app.service.admin-api.enabled.
	Name string `json:"name"`
	// JSONPath is the camelCase name without the root: service.adminApi.enabled.
	JSONPath string `json:"jsonPath"`
	// Env is the environment variable: APP_SERVICE_ADMIN_API_ENABLED.
	Env string `json:"env"`
	// Type is boolean, short, int, long, float, double, string, enum or
	// "list of" one of these or object, or "map of string".
	Type string `json:"type"`
	// Default is the printed default.
	Default string `json:"default"`
	// Options are the allowed values of an enum or of a list of enums.
	Options []string `json:"options,omitempty"`
	// Min and Max bound a number or each number of a list.
	Min *int64 `json:"min,omitempty"`
	Max *int64 `json:"max,omitempty"`
	// Doc is one sentence.
	Doc string `json:"doc"`

	// Mutable means that the value may change at run time, Global that all nodes share it,
	// Sensitive that it is never shown and Hidden that the settings interface does not know it.
	Mutable   bool `json:"mutable"`
	Global    bool `json:"global"`
	Sensitive bool `json:"sensitive"`
	Hidden    bool `json:"hidden"`
}

// Properties returns every leaf in the order of declaration. The caller owns the result.
func (t *Tree) Properties() []Property {
	var all []Property
	t.root.walk(func(n *node) {
		if n.kind != kindGroup {
			all = append(all, n.property())
		}
	})
	return all
}

// property returns a deep copy.
func (n *node) property() Property {
	p := n.prop
	p.Options = slices.Clone(p.Options)
	p.Min, p.Max = clonePointer(p.Min), clonePointer(p.Max)
	return p
}

func clonePointer[T any](p *T) *T {
	if p == nil {
		return nil
	}
	return new(*p)
}
