// SPDX-License-Identifier: Apache-2.0

package store

import (
	"encoding/json"
	"fmt"
)

// attributesText is the JSON text in which user-defined attributes are stored; nil stands for none.
func attributesText(attributes map[string]any) (*string, error) {
	if len(attributes) == 0 {
		return nil, nil
	}
	document, err := json.Marshal(attributes)
	if err != nil {
		return nil, fmt.Errorf("%w: user-defined attributes: %w", ErrInvalidValue, err)
	}
	text := string(document)
	return &text, nil
}
