// SPDX-License-Identifier: Apache-2.0

package catalog

import "example.org/app/internal/plugin"

// Schemas returns the settings schemas of the cluster plugins that this process does not load, for
// instance those of another role, by plugin id. The manager has those of loaded plugins.
func (c *Catalog) Schemas() map[string]*plugin.Schema {
	texts := map[string]string{}
	c.mu.Lock()
	for id, e := range c.entries {
		if e.want != nil && e.want.mine.Settings != "" {
			texts[id] = e.want.mine.Settings
		}
	}
	c.mu.Unlock()
	schemas := map[string]*plugin.Schema{}
	for id, text := range texts {
		if _, loaded := c.opts.Manager.Find(id); loaded {
			continue
		}
		s, err := plugin.NewSchema([]byte(text))
		if err != nil {
			c.opts.Logger.Warn("the settings of a plugin of the cluster are not understood", "plugin", id, "error", err)
			continue
		}
		schemas[id] = s
	}
	return schemas
}
