// SPDX-License-Identifier: Apache-2.0

package setting

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"example.org/app/internal/apierr"
	"example.org/app/internal/plugin"
)

// pluginsKey is the key of the settings of plugins beside the properties of the server.
const pluginsKey = "plugins"

// pluginValues are the administrators' values of plugin settings by plugin id, as nested maps.
type pluginValues map[string]map[string]any

// newPluginValues converts the value of pluginsKey in a change or in the store.
func newPluginValues(v any) (pluginValues, error) {
	all, ok := v.(map[string]any)
	if !ok {
		return nil, fmt.Errorf("%s: must be an object with the ids of plugins", pluginsKey)
	}
	values := pluginValues{}
	for id, v := range all {
		if values[id], ok = v.(map[string]any); !ok {
			return nil, fmt.Errorf("%s.%s: must be an object with settings", pluginsKey, id)
		}
	}
	return values, nil
}

// splitPlugins separates the settings of plugins from the properties of the server.
func splitPlugins(all map[string]any) (own map[string]any, ofPlugins pluginValues, err error) {
	v, ok := all[pluginsKey]
	if !ok {
		return all, nil, nil
	}
	own = maps.Clone(all)
	delete(own, pluginsKey)
	if ofPlugins, err = newPluginValues(v); err != nil {
		return nil, nil, illegal(err)
	}
	return own, ofPlugins, nil
}

// Schemas returns the settings schemas of the plugins known to the node, by plugin id.
type Schemas func() map[string]*plugin.Schema

// schemas is a snapshot of them.
type schemas map[string]*plugin.Schema

// UsePlugins sets the source of the schemas, and the function called after every change that was
// read, which must not wait for a plugin.
func (s *Settings) UsePlugins(of Schemas, applied func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.schemas, s.applied = of, applied
}

func (s *Settings) pluginSchemas() schemas {
	s.mu.Lock()
	of := s.schemas
	s.mu.Unlock()
	if of == nil {
		return nil
	}
	return of()
}

// PluginSchemas returns the settings schemas of the plugins known to this node, by plugin id.
func (s *Settings) PluginSchemas() map[string]*plugin.Schema { return s.pluginSchemas() }

// PluginValues returns the administrators' values of a plugin's settings, read only.
func (s *Settings) PluginValues(id string) map[string]any {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.plugins[id]
}

// apply merges a change into the values of plugins and validates those of known plugins. Values of
// other plugins stay, in case they come back.
func (m schemas) apply(next *values, before, change pluginValues, action string) error {
	if action == ActionUpdate {
		next.plugins = maps.Clone(before)
		for _, id := range slices.Sorted(maps.Keys(change)) {
			schema := m[id]
			if schema == nil {
				return apierr.New(apierr.IllegalArgument, "%s.%s: no plugin with this id that has settings is loaded on this node or is one of the cluster", pluginsKey, id)
			}
			merged, err := schema.Merge(before[id], change[id])
			if err == nil {
				err = schema.Check(schema.Effective(merged))
			}
			if err != nil {
				return apierr.New(apierr.IllegalArgument, "%s.%s.%v", pluginsKey, id, err)
			}
			if next.plugins == nil {
				next.plugins = pluginValues{}
			}
			if next.plugins[id] = merged; len(merged) == 0 {
				delete(next.plugins, id)
			}
		}
		return nil
	}
	for _, id := range slices.Sorted(maps.Keys(next.plugins)) {
		if schema := m[id]; schema != nil {
			if err := schema.Check(schema.Effective(next.plugins[id])); err != nil {
				return apierr.New(apierr.IllegalArgument, "%s.%s.%v", pluginsKey, id, err)
			}
		}
	}
	return nil
}

// differences lists the changes of plugin settings. Secrets are masked, and so are all values of
// unknown plugins, whose secrets are unknown.
func (m schemas) differences(before, after pluginValues) []Change {
	ids := maps.Clone(before)
	if ids == nil {
		ids = pluginValues{}
	}
	maps.Copy(ids, after)
	var list []Change
	for _, id := range slices.Sorted(maps.Keys(ids)) {
		schema := m[id]
		if schema == nil {
			if !equalJSON(before[id], after[id]) {
				list = append(list, Change{pluginsKey + "." + id, masked(before[id] != nil), masked(after[id] != nil)})
			}
			continue
		}
		b, a := schema.Effective(before[id]), schema.Effective(after[id])
		for _, x := range schema.Settings() {
			was, had := x.Value(b)
			is, has := x.Value(a)
			if had == has && equalJSON(was, is) {
				continue
			}
			if x.Sensitive {
				was, is = masked(had), masked(has)
			}
			list = append(list, Change{pluginsKey + "." + id + "." + strings.Join(x.Path, "."), was, is})
		}
	}
	return list
}

// masked returns the replacement of a value; nil if there is none.
func masked(there bool) any {
	if !there {
		return nil
	}
	return plugin.Mask
}
