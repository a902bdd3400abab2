// SPDX-License-Identifier: Apache-2.0

package javasdk

import (
	"slices"

	"example.org/app/internal/plugin"
)

// Methods returns the methods of all extension points. The index of a method is its number on the
// pipes.
func Methods() []*plugin.Method { return methodsOf(plugin.Points) }

// MethodIndex returns the number of a method on the pipes.
func MethodIndex(m *plugin.Method) int { return slices.Index(Methods(), m) }

func methodsOf(points []*plugin.Point) []*plugin.Method {
	var all []*plugin.Method
	for _, p := range points {
		all = append(all, p.Methods...)
	}
	return all
}
