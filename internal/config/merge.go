// SPDX-License-Identifier: Apache-2.0

package config

// MergeOptions restrict what Merge accepts.
type MergeOptions struct {
	// OnlyMutable refuses properties that may not change while the server runs.
	OnlyMutable bool
	// Source is where the values come from; empty leaves what is known.
	Source Source
}

// Merge overwrites properties with the members of nested maps, such as decoded
// JSON. Names are camelCase or kebab-case, without the root's name. Groups are
// merged; lists and maps are replaced as a whole. Numbers and booleans may be
// given as strings, one element instead of a list of it, and null is the same
// as absent. An unknown name, a value of the wrong type and a broken rule are
// refused with an *Error, and c is then left as it was.
func (c *Config) Merge(values map[string]any, opts MergeOptions) error {
	t := configTree()
	in, err := goInput(values, 0)
	if err != nil {
		return &Error{Property: t.root.name, Rule: err.Error()}
	}
	p := t.newPatch()
	if err := p.assign(in, assignment{written: t.root.name, onlyMutable: opts.OnlyMutable}); err != nil {
		return t.complete(err)
	}
	if err := p.finish(); err != nil {
		return err
	}
	merged := c.Clone()
	var record func(string, origin, bool)
	if opts.Source != "" {
		record = merged.recorder(opts.Source)
	}
	p.apply(merged.value(), record)
	if merged.resolved {
		t.root.resolvePaths(merged.value(), merged.home)
	}
	if err := merged.Validate(); err != nil {
		return err
	}
	*c = *merged
	return nil
}
