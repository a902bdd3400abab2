// SPDX-License-Identifier: Apache-2.0

package group

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"example.org/app/internal/apierr"
	"example.org/app/internal/config"
)

func TestAttributes(t *testing.T) {
	onBothEngines(t, func(w *world) {
		ctx := w.Context()
		rules := &w.settings.Info.UserDefinedAttributes
		rule := config.Default().Service.Group.Info.UserDefinedAttributes
		if len(rule.AllowedAttributes) != 0 || rule.IgnoreUnknownAttributesOnUpsert {
			w.Errorf("the default is %+v", rule)
		}
		text := config.ValueRule{Type: "STRING"}
		text.StringValue.MaxLength = 5
		rules.AllowedAttributes = []config.AllowedAttribute{
			{SourceName: "color", StoredName: "c", Value: text},
			{SourceName: "open", Immutable: true, Value: config.ValueRule{Type: "BOOL"}},
		}
		_, err := w.Create(ctx, Creation{CreatorID: 1, Attributes: map[string]any{"size": "5"}})
		wantCode(w, err, apierr.IllegalArgument)
		g := must(w.Create(ctx, Creation{CreatorID: 1, Attributes: map[string]any{"color": "red", "open": true}}))(w)
		shown := func(want map[string]any) {
			w.Helper()
			stored := w.get(g.ID)
			if diff := cmp.Diff(want, w.Attributes(stored)); diff != "" {
				w.Errorf("-want +got:\n%s", diff)
			}
			if _, found := stored.Attributes["color"]; found {
				w.Errorf("stored are %v", stored.Attributes)
			}
		}
		shown(map[string]any{"color": "red", "open": true})
		edit := func(attributes map[string]any, wantChanged bool, code apierr.Code) {
			w.Helper()
			changed, err := w.UpdateBy(ctx, 1, g.ID, Edit{Attributes: attributes})
			wantRefusal(w, "attributes", err, code)
			if changed != wantChanged {
				w.Errorf("changed %v", changed)
			}
		}
		edit(map[string]any{"color": "purple"}, false, apierr.IllegalArgument)
		edit(map[string]any{"color": int32(1)}, false, apierr.IllegalArgument)
		edit(map[string]any{"open": false}, false, apierr.IllegalArgument)
		edit(map[string]any{"size": "5"}, false, apierr.IllegalArgument)
		edit(map[string]any{"color": "blue", "open": true}, true, 0)
		shown(map[string]any{"color": "blue", "open": true})
		edit(map[string]any{"color": "blue"}, false, 0)
		rules.IgnoreUnknownAttributesOnUpsert = true
		edit(map[string]any{"size": "5"}, false, 0)
		if !must(w.UpdateBy(ctx, 1, g.ID, Edit{Name: new("n")}))(w) {
			w.Error("nothing changed")
		}
		shown(map[string]any{"color": "blue", "open": true})
	})
}
