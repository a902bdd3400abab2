// SPDX-License-Identifier: Apache-2.0

package property

import (
	"reflect"
	"testing"
)

func TestRedacted(t *testing.T) {
	s, err := loadSample(t, "", nil, []string{
		"app.plugins[0].url=x", "app.plugins[0].token=hunter2", "app.proxy.password=hunter2", "app.labels.k=v", "app.modes=off",
	})
	if err != nil {
		t.Fatal(err)
	}
	got := sampleTree(t).Select(s, func(Property) bool { return true })
	want := map[string]any{
		"flag": true, "small": int64(1), "count": int64(2), "big": int64(3), "single": 0.5, "ratio": 0.25,
		"text": "text", "word": "word", "even": int64(4), "mode": "ON", "names": []any{"a", "b"}, "modes": []any{"OFF"},
		"ports": []any{}, "labels": map[string]any{"k": "v"}, "dir": "/srv/app/dir", "dirs": []any{},
		"proxy": map[string]any{"host": "localhost", "port": int64(8080), "password": "***", "minSize": int64(1), "maxSize": int64(9)},
		"plugins": []any{map[string]any{
			"url": "x", "kind": "AUTO", "token": "***", "tags": []any{}, "download": map[string]any{"timeoutMillis": int64(60000)},
		}},
		"levels": []any{map[string]any{"duration": int64(10), "times": int64(5)}, map[string]any{"duration": int64(20), "times": int64(1)}},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf(" got %v\nwant %v", got, want)
	}
}
