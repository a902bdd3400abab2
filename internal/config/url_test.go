// SPDX-License-Identifier: Apache-2.0

package config

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

func TestURLIsNeverPrinted(t *testing.T) {
	const secret = "hunter2"
	c := Default()
	c.Gateway.Session.IdentityAccessManagement.HTTP.Request.URL = "https://u:" + secret + "@host/login?key=" + secret
	c.Plugin.Network.Plugins = []NetworkPlugin{{URL: "https://host/a.js?token=" + secret}}
	outputs := map[string]string{}
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%d"} {
		outputs["pointer "+verb] = fmt.Sprintf(verb, c)
		outputs["url "+verb] = fmt.Sprintf(verb, c.Plugin.Network.Plugins[0].URL)
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
	slog.New(slog.NewJSONHandler(&log, nil)).Info("message", "url", c.Plugin.Network.Plugins[0].URL, "plugins", c.Plugin.Network)
	outputs["slog"] = log.String()
	for name, output := range outputs {
		if strings.Contains(output, secret) || strings.Contains(strings.ToLower(output), fmt.Sprintf("%x", secret)) {
			t.Errorf("%s tells the secret: %s", name, output)
		}
		if !strings.Contains(output, "host/") {
			t.Errorf("%s does not show the host: %s", name, output)
		}
	}
	for name, set := range map[string]string{
		"refused": "app.gateway.session.identity-access-management.http.request.url=ftp://u:" + secret + "@host/",
		"mask":    "app.gateway.session.identity-access-management.http.request.url=https://***@host/",
	} {
		_, err := Load(Options{Home: t.TempDir(), Set: []string{set, "app.gateway.session.identity-access-management.type=HTTP"}})
		if err == nil || strings.Contains(err.Error(), secret) || !strings.Contains(err.Error(), "***@host/") {
			t.Errorf("%s: %v", name, err)
		}
	}
}
