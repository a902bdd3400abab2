// SPDX-License-Identifier: Apache-2.0

package audit

import (
	"encoding/json"
	"fmt"
	"unicode/utf8"

	"example.org/app/internal/store"
)

// appendChanges appends changes as JSON of at most limit bytes. The excess is omitted and counted;
// of a single change that is too large only the key and the sizes stay.
func appendChanges(list []byte, changes []store.Change, limit int) (_ []byte, dropped int, err error) {
	start := len(list)
	list = append(list, '[')
	for i := range changes {
		c := &changes[i]
		whole := len(list)
		if i > 0 {
			list = append(list, ',')
		}
		if list, err = c.AppendJSON(list); err != nil {
			return nil, 0, fmt.Errorf("encode a change of %q: %w", c.Record, err)
		}
		switch {
		case i == 0 && len(list)-whole > limit:
			small, err := c.Small()
			if err == nil {
				list, err = small.AppendJSON(list[:whole])
			}
			if err != nil {
				return nil, 0, fmt.Errorf("encode a change of %q: %w", c.Record, err)
			}
		case i > 0 && len(list)-start+1 > limit:
			return append(list[:whole], ']'), len(changes) - i, nil
		}
	}
	return append(list, ']'), 0, nil
}

// boundParams encodes parameters as JSON of at most limit bytes, replacing those that are too large
// by their sizes. It returns nil if there are none.
func boundParams(params map[string]any, limit int) *string {
	if len(params) == 0 {
		return nil
	}
	text, err := json.Marshal(params)
	if err == nil && len(text) > limit {
		small := map[string]any{}
		for name, value := range params {
			small[name] = boundValue(value, limit/8)
		}
		text, err = json.Marshal(small)
	}
	if err != nil || len(text) > limit {
		text = fmt.Appendf(nil, `{"bytes":%d}`, len(text))
	}
	bounded := string(text)
	return &bounded
}

// boundValue replaces a value that is too large by its size; in an object each member separately.
func boundValue(value any, limit int) any {
	text, err := json.Marshal(value)
	if err == nil && len(text) <= limit {
		return value
	}
	object, ok := value.(map[string]any)
	if !ok {
		return map[string]any{"bytes": len(text)}
	}
	small := map[string]any{}
	for name, member := range object {
		if inner, err := json.Marshal(member); err != nil || len(inner) > limit/4 {
			member = map[string]any{"bytes": len(inner)}
		}
		small[name] = member
	}
	return small
}

// cut truncates a text.
func cut(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	for limit > 0 && !utf8.RuneStart(text[limit]) {
		limit--
	}
	return text[:limit] + "…"
}
