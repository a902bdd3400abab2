// SPDX-License-Identifier: Apache-2.0

package plugin

// values are what administrators set of the settings of a plugin.
func (m *Manager) values(id string) map[string]any {
	if m.opts.Values == nil {
		return nil
	}
	return m.opts.Values(id)
}

// Schemas returns the schemas of the settings of the plugins that are loaded, by the ids of the plugins.
func (m *Manager) Schemas() map[string]*Schema {
	all := map[string]*Schema{}
	for _, p := range m.Plugins() {
		if p.Descriptor.Settings != nil {
			all[p.ID] = p.Descriptor.Settings
		}
	}
	return all
}

// SettingsChanged tells extensions of settings that are new to them, each by its hook and in its turn, and waits for none.
// An extension that could not be started is tried again at once: its settings may have been the reason.
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
					// If it fails, whoever tried before tries again. It may also be that it was about to start with what
					// held before.
					_, _ = b.life.Do(m.ctx, Start)
				}
				_, _ = b.life.Do(m.ctx, SettingsChanged) // What fails is noted and logged.
			})
		}
	}
}
