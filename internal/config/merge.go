// SPDX-License-Identifier: Apache-2.0

package config

import (
	"maps"

	"example.org/app/internal/config/property"
)

// MergeOptions restrict what Merge accepts.
type MergeOptions struct {
	// OnlyMutable refuses properties that may not change while the server runs.
	OnlyMutable bool
	// Source is where the values come from; empty leaves what is known.
	Source property.Source
}

// Merge overwrites properties with the members of nested maps, such as decoded
// JSON, by the rules of [property.Tree.Read]. What these refuse, and a broken rule
// of a property, is a *property.Error, and c is then left as it was.
func (c *Config) Merge(values map[string]any, opts MergeOptions) error {
	t := configTree()
	read, err := t.Read(values, opts.OnlyMutable)
	if err != nil {
		return err
	}
	merged := c.Clone()
	wrote := func(string) {}
	if opts.Source != "" {
		merged.sources = maps.Collect(maps.All(c.sources)) // Others may see the old ones.
		wrote = func(name string) { merged.sources[name] = opts.Source }
	}
	read.Write(merged, wrote)
	if merged.resolved {
		t.ResolvePaths(merged, merged.home)
	}
	if err := merged.Validate(); err != nil {
		return err
	}
	*c = *merged
	return nil
}

// Touched returns the properties that nested maps name, in the order of
// declaration, whether or not the values differ from those that hold. An
// unknown name or a value of the wrong type is a *property.Error.
func Touched(values map[string]any) ([]property.Property, error) {
	read, err := configTree().Read(values, false)
	if err != nil {
		return nil, err
	}
	return read.Properties(), nil
}
