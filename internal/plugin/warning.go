// SPDX-License-Identifier: Apache-2.0

package plugin

// Warnings are what the author of the plugin should know though it was loaded, if its host says such things.
func (p *Plugin) Warnings() []string {
	var list []string
	if w, ok := p.module.(interface{ Warnings() []string }); ok {
		list = w.Warnings()
	}
	if rule := badID(p.ID); rule != "" {
		list = append(list, rule)
	}
	return list
}
