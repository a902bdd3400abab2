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

	"example.org/app/internal/config/property"
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
		outputs["list "+verb] = fmt.Sprintf(verb, []property.Secret{secret})
		outputs["map "+verb] = fmt.Sprintf(verb, map[string]property.Secret{"a": secret})
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
		if !strings.Contains(output, "***") {
			t.Errorf("%s does not show the mask: %s", name, output)
		}
	}
	if c.Security.Password.InitialRootPassword.Reveal() != secret {
		t.Error("the secret is lost")
	}
	if got := c.Store.URL.String() + c.Store.URL.GoString(); got != "******" {
		t.Errorf("got %q", got)
	}
}
