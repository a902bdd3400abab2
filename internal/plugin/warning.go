// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"fmt"
	"slices"
	"strings"

	"example.org/app/internal/role"
)

// processes returns the roles in the operators' terms.
func processes(roles []role.Role) string {
	names := make([]string, len(roles))
	for i, r := range roles {
		names[i] = "app-" + r.Name()
	}
	return strings.Join(names, " and ")
}

// Warnings returns warnings for the author of a plugin that was loaded, if its host supports them.
func (p *Plugin) Warnings() []string {
	var list []string
	if w, ok := p.module.(interface{ Warnings() []string }); ok {
		list = w.Warnings()
	}
	for _, b := range p.members {
		for _, point := range b.Points() {
			if len(p.roles) > 0 && !slices.ContainsFunc(point.Roles, func(r role.Role) bool { return slices.Contains(p.roles, r) }) {
				list = append(list, fmt.Sprintf("%s implements %s, which this server never calls: it is called by %s", b.Class(), point.Name, processes(point.Roles)))
			}
		}
	}
	if rule := badID(p.ID); rule != "" {
		list = append(list, rule)
	}
	return list
}
