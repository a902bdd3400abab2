// SPDX-License-Identifier: Apache-2.0

package group

import (
	"example.org/app/internal/im/value"
	"example.org/app/internal/store"
)

// Attributes returns the user-defined attributes of a group in their public form.
func (d *Directory) Attributes(g store.Group) map[string]any {
	return value.ShowAttributes(g.Attributes, d.opts.Settings().Info.UserDefinedAttributes)
}

// mergeAttributes merges the attributes that a user wants to set into the stored ones, or returns
// an error if the settings forbid it.
func (d *Directory) mergeAttributes(stored, wanted map[string]any) (map[string]any, error) {
	if len(wanted) == 0 {
		return stored, nil
	}
	merged, _, err := value.MergeAttributes(stored, wanted, d.opts.Settings().Info.UserDefinedAttributes)
	return merged, err
}
