// SPDX-License-Identifier: Apache-2.0

package group

import (
	"maps"
	"slices"

	"example.org/app/internal/apierr"
)

// mergeAttributes returns the attributes that a group has with those that a user
// wants to set. Groups may have no attributes that users make up, so it refuses
// any.
func mergeAttributes(stored, wanted map[string]any) (map[string]any, error) {
	for _, name := range slices.Sorted(maps.Keys(wanted)) {
		return nil, apierr.New(apierr.IllegalArgument, "userDefinedAttributes.%s: there is no such attribute", name)
	}
	return stored, nil
}
