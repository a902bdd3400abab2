// SPDX-License-Identifier: Apache-2.0

package property

import "testing"

// TestMergeMutability looks at lists and maps, whose parts have their flag.
func TestMergeMutability(t *testing.T) {
	tests := map[string]struct {
		values map[string]any
		want   string
	}{
		"list":            {map[string]any{"names": []any{}}, "app.names: must not be changed while the server runs"},
		"position":        {map[string]any{"names[0]": "x"}, `app.names = "x": must not be changed while the server runs`},
		"empty element":   {map[string]any{"levels[0]": map[string]any{}}, "app.levels: must not be changed while the server runs"},
		"map":             {map[string]any{"labels": map[string]any{}}, "app.labels: must not be changed while the server runs"},
		"map entry":       {map[string]any{"labels.a": "b"}, `app.labels = "b": must not be changed while the server runs`},
		"mutable":         {map[string]any{"plugins": []any{map[string]any{"url": "x", "tags": []any{"a"}}}}, ""},
		"mutable element": {map[string]any{"plugins": map[string]any{"url": "x"}}, ""},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			in, err := goInput(tt.values, 0)
			if err != nil {
				t.Fatal(err)
			}
			problem := sampleTree(t).newPatch().assign(in, assignment{onlyMutable: true})
			if tt.want == "" {
				if problem != nil {
					t.Fatal(problem)
				}
				return
			}
			wantError(t, problem, tt.want)
		})
	}
}
