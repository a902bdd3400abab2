// SPDX-License-Identifier: Apache-2.0

package config

import (
	"maps"

	"example.org/app/internal/config/property"
)

// MergeOptions restrict what Merge accepts.
type MergeOptions struct {
	// OnlyMutable makes immutable properties an error.
	OnlyMutable bool
	// Source is the source of the values; empty leaves the recorded one.
	Source property.Source
}

// Merge sets properties to the members of nested maps, such as decoded JSON, by the rules of
// [property.Tree.Read]. The error for invalid values is a *property.Error, and c is then unchanged.
func (c *Config) Merge(values map[string]any, opts MergeOptions) error {
	t := configTree()
	read, err := t.Read(values, opts.OnlyMutable)
	if err != nil {
		return err
	}
	merged := c.Clone()
	wrote := func(string) {}
	if opts.Source != "" {
		merged.sources = maps.Collect(maps.All(c.sources)) // The old map may be shared.
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

// Touched returns the properties named by nested maps, in the order of declaration, even if the
// values are equal to the current ones. An unknown name or a value of the wrong type is a
// *property.Error.
func Touched(values map[string]any) ([]property.Property, error) {
	read, err := configTree().Read(values, false)
	if err != nil {
		return nil, err
	}
	return read.Properties(), nil
}
