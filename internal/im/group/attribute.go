// SPDX-License-Identifier: Apache-2.0

package group

import (
	"example.org/app/internal/im/value"
	"example.org/app/internal/store"
)

// Attributes returns the user-defined attributes of a group by the names and with
// the types that users know.
func (d *Directory) Attributes(g store.Group) map[string]any {
	return value.ShowAttributes(g.Attributes, d.opts.Settings().Info.UserDefinedAttributes)
}

// mergeAttributes returns the attributes that are stored with a group and those
// that a user wants to set besides, if the settings allow them.
func (d *Directory) mergeAttributes(stored, wanted map[string]any) (map[string]any, error) {
	if len(wanted) == 0 {
		return stored, nil
	}
	merged, _, err := value.MergeAttributes(stored, wanted, d.opts.Settings().Info.UserDefinedAttributes)
	return merged, err
}
