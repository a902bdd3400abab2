// SPDX-License-Identifier: Apache-2.0

package config

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"reflect"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

func TestSecretIsNeverPrinted(t *testing.T) {
	const secret = "hunter2"
	c := Default()
	c.Security.Password.InitialRootPassword = secret
	c.Store.URL = "postgres://u:" + secret + "@host/db"

	outputs := make(map[string]string)
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%X", "%d", "%t", "%10s"} {
		outputs["pointer "+verb] = fmt.Sprintf(verb, c)
		outputs["value "+verb] = fmt.Sprintf(verb, *c)
		outputs["secret "+verb] = fmt.Sprintf(verb, c.Security.Password.InitialRootPassword)
		outputs["list "+verb] = fmt.Sprintf(verb, []Secret{secret})
		outputs["map "+verb] = fmt.Sprintf(verb, map[string]Secret{"a": secret})
	}
	data, err := json.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	outputs["json"] = string(data)
	if data, err = yaml.Marshal(c); err != nil {
		t.Fatal(err)
	}
	outputs["yaml"] = string(data)
	if data, err = json.Marshal(c.Redacted()); err != nil {
		t.Fatal(err)
	}
	outputs["redacted"] = string(data)
	var log bytes.Buffer
	for _, h := range []slog.Handler{slog.NewTextHandler(&log, nil), slog.NewJSONHandler(&log, nil)} {
		slog.New(h).Info("message", "config", c, "secret", c.Store.URL, "password", c.Security)
	}
	outputs["slog"] = log.String()

	hex := fmt.Sprintf("%x", secret)
	for name, output := range outputs {
		if strings.Contains(output, secret) || strings.Contains(strings.ToLower(output), hex) {
			t.Errorf("%s tells the secret: %s", name, output)
		}
		if !strings.Contains(output, mask) {
			t.Errorf("%s does not show the mask: %s", name, output)
		}
	}
	if c.Security.Password.InitialRootPassword.Reveal() != secret {
		t.Error("the secret is lost")
	}
	if got := c.Store.URL.String() + c.Store.URL.GoString(); got != mask+mask {
		t.Errorf("got %q", got)
	}
}

func TestRedacted(t *testing.T) {
	s, err := loadSample(t, "", nil, []string{
		"app.plugins[0].url=x", "app.plugins[0].token=hunter2", "app.proxy.password=hunter2", "app.labels.k=v", "app.modes=off",
	})
	if err != nil {
		t.Fatal(err)
	}
	got := sampleTree(t).export(reflect.ValueOf(s).Elem(), func(Property) bool { return true })
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
