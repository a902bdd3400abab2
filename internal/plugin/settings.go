// SPDX-License-Identifier: Apache-2.0

package plugin

// values returns the administrators' values of a plugin's settings.
func (m *Manager) values(id string) map[string]any {
	if m.opts.Values == nil {
		return nil
	}
	return m.opts.Values(id)
}

// Schemas returns the settings schemas of the loaded plugins, by plugin id.
func (m *Manager) Schemas() map[string]*Schema {
	all := map[string]*Schema{}
	for _, p := range m.Plugins() {
		if p.Descriptor.Settings != nil {
			all[p.ID] = p.Descriptor.Settings
		}
	}
	return all
}

// SettingsChanged passes settings that are new to extensions to them, by their hooks in turn,
// without waiting. Extensions whose start failed are retried at once, because their settings may
// have been the reason.
func (m *Manager) SettingsChanged() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.ctx.Err() != nil {
		return
	}
	for _, p := range m.withTrials() {
		if p.Descriptor.Settings == nil || p.released.Load() {
			continue
		}
		for _, b := range p.members {
			m.tellers.Go(func() {
				if b.life.State() == Loaded && b.isDown() {
					// If it fails, the earlier retries continue. It may also have been starting
					// with the former values.
					_, _ = b.life.Do(m.ctx, Start)
				}
				_, _ = b.life.Do(m.ctx, SettingsChanged) // Failures are recorded and logged.
			})
		}
	}
}
