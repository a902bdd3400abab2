// SPDX-License-Identifier: Apache-2.0

package site

import (
	"encoding/json"
	"strings"
)

// index returns the search index as a script. It is a script and not data, because a page that is
// opened from disk can load only scripts.
func index(chapters []*chapter) ([]byte, error) {
	type item struct {
		Page    string `json:"p"`
		Anchor  string `json:"a,omitempty"`
		Title   string `json:"t"`
		Section string `json:"s,omitempty"`
		Text    string `json:"x,omitempty"`
	}
	var items []item
	for _, c := range chapters {
		for _, p := range c.pages {
			for i, s := range p.sections {
				it := item{Page: p.path, Title: p.Title, Text: strings.Join(strings.Fields(s.text), " ")}
				if i > 0 {
					it.Anchor, it.Section = s.Anchor, s.Title
				}
				items = append(items, it)
			}
		}
	}
	data, err := json.Marshal(items)
	if err != nil {
		return nil, err
	}
	return append(append([]byte("window.searchIndex = "), data...), ";\n"...), nil
}
