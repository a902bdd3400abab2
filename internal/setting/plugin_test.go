// SPDX-License-Identifier: Apache-2.0

package setting

import (
	"encoding/json"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"example.org/app/internal/plugin"
	"example.org/app/internal/store"
)

const filterSchema = `{"type": "object", "required": ["key"], "properties": {
  "words": {"type": "array", "items": {"type": "string"}, "default": ["darn"]},
  "key": {"type": "string", "minLength": 3, "writeOnly": true},
  "limits": {"type": "object", "properties": {"rate": {"type": "integer", "minimum": 1, "default": 10}}}
}}`

// withPlugin adds a plugin with settings to a node; gone removes it.
func (n *node) withPlugin(t *testing.T, id string) (gone *atomic.Bool, applied *atomic.Int32) {
	t.Helper()
	schema, err := plugin.NewSchema([]byte(filterSchema))
	if err != nil {
		t.Fatal(err)
	}
	gone, applied = new(atomic.Bool), new(atomic.Int32)
	n.UsePlugins(func() map[string]*plugin.Schema {
		if gone.Load() {
			return nil
		}
		return map[string]*plugin.Schema{id: schema}
	}, func() { applied.Add(1) })
	return gone, applied
}

// wantPlugin checks what was set for a plugin.
func (n *node) wantPlugin(t *testing.T, id, want string) {
	t.Helper()
	if got, _ := json.Marshal(n.PluginValues(id)); string(got) != want {
		t.Errorf("%s has %s, want %s", id, got, want)
	}
}

// wantChanges checks what the last revision did.
func (n *node) wantChanges(t *testing.T, want string) {
	t.Helper()
	_, list, err := n.History(t.Context(), 1, 0)
	if err != nil {
		t.Fatal(err)
	}
	text := ""
	for _, c := range list[0].Changes {
		text += fmt.Sprintf("%s: %v to %v; ", c.Property, c.Before, c.After)
	}
	if text != want {
		t.Errorf("revision %d says\n%s, want\n%s", list[0].Revision, text, want)
	}
}

func ofPlugin(id, values string) Request {
	var v map[string]any
	if err := decodeJSON(values, &v); err != nil {
		panic(err)
	}
	return Request{Values: map[string]any{"plugins": map[string]any{id: v}}}
}

func TestSettingsOfPlugins(t *testing.T) {
	onBothEngines(t, func(t *testing.T, db *store.DB) {
		const id = "org.example/filter 1.0" // Ids may have dots.
		n := newNode(t, db)
		gone, applied := n.withPlugin(t, id)
		n.wantPlugin(t, id, "null")
		refused := func(r Request, want string) {
			t.Helper()
			revision, _ := n.Overrides()
			if err := n.Update(t.Context(), r); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "hush") {
				t.Errorf("the error is %v, want %q", err, want)
			}
			if now, _ := n.Overrides(); now != revision {
				t.Errorf("the revision is %d, before %d", now, revision)
			}
		}
		refused(ofPlugin(id, `{"words": []}`), "plugins."+id+".key: is required")
		refused(ofPlugin(id, `{"key": "hush", "limits": {"rate": 0}}`), "plugins."+id+".limits.rate: ")
		refused(ofPlugin(id, `{"kye": "hush"}`), "plugins."+id+".kye: unknown setting")
		refused(ofPlugin("other", `{}`), `plugins.other: no plugin with this id`)
		refused(Request{Values: map[string]any{"plugins": 1}}, "plugins: must be an object")
		refused(Request{Values: map[string]any{"plugins": map[string]any{id: []any{}}}}, "must be an object with settings")
		if err := n.UpdateLocal(ofPlugin(id, `{"key": "hush"}`).Values); err == nil || !strings.Contains(err.Error(), "whole cluster") {
			t.Errorf("the error is %v", err)
		}

		// All or nothing, together with the settings of the server.
		both := ofPlugin(id, `{"key": "hush", "limits": {"rate": 3}}`)
		both.Values["service"] = capacity(0)["service"]
		refused(both, "capacity")
		both.Values["service"] = capacity(70)["service"]
		n.update(t, both)
		if n.capacity() != 70 || applied.Load() != 1 {
			t.Errorf("the capacity is %d, applied %d times", n.capacity(), applied.Load())
		}
		n.wantPlugin(t, id, `{"key":"hush","limits":{"rate":3}}`)
		n.wantChanges(t, "service.adminApi.rateLimiting.capacity: 50 to 70; plugins."+id+".key: <nil> to ***; plugins."+id+".limits.rate: 10 to 3; ")
		n.update(t, ofPlugin(id, `{"key": "hush"}`)) // This changes nothing.
		if revision, _ := n.Overrides(); revision != 1 {
			t.Errorf("the revision is %d", revision)
		}

		// Another node sees it, and so does one that starts.
		other := newNode(t, db)
		other.withPlugin(t, id)
		other.wantPlugin(t, id, `{"key":"hush","limits":{"rate":3}}`)
		other.update(t, ofPlugin(id, `{"limits": {"rate": null}, "key": "hush!"}`))
		other.wantChanges(t, "plugins."+id+".key: *** to ***; plugins."+id+".limits.rate: 3 to 10; ")
		if err := n.Refresh(t.Context()); err != nil || applied.Load() != 2 {
			t.Errorf("applied %d times, %v", applied.Load(), err)
		}
		n.wantPlugin(t, id, `{"key":"hush!"}`)
		revision := int64(1)
		n.update(t, Request{RevertTo: &revision})
		n.wantPlugin(t, id, `{"key":"hush","limits":{"rate":3}}`)

		// The values of an unknown plugin stay, are hidden, and cannot be changed.
		gone.Store(true)
		refused(ofPlugin(id, `{"limits": {"rate": 1}}`), "no plugin with this id")
		n.update(t, Request{Values: capacity(71)})
		n.wantPlugin(t, id, `{"key":"hush","limits":{"rate":3}}`)
		revision = 2
		n.update(t, Request{RevertTo: &revision})
		n.wantChanges(t, "service.adminApi.rateLimiting.capacity: 71 to 70; plugins."+id+": *** to ***; ")
		gone.Store(false)
		n.update(t, Request{Reset: true})
		n.wantPlugin(t, id, "null")
		refused(ofPlugin(id, `{"limits": {"rate": 5}}`), "key: is required")
	})
}
