// SPDX-License-Identifier: Apache-2.0

package plugin

// Warnings are what the author of the plugin should know though it was loaded, if its host says such things.
func (p *Plugin) Warnings() []string {
	if w, ok := p.module.(interface{ Warnings() []string }); ok {
		return w.Warnings()
	}
	return nil
}
