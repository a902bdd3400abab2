// SPDX-License-Identifier: Apache-2.0

package config

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"reflect"
	"strings"
	"testing"

	"example.org/app/internal/config/property"
)

func TestWriteDoc(t *testing.T) {
	for _, format := range []string{"text", "markdown", "json"} {
		var b bytes.Buffer
		if err := WriteDoc(&b, format); err != nil {
			t.Fatal(err)
		}
		for _, p := range Properties() {
			if !strings.Contains(b.String(), p.Name) || !strings.Contains(b.String(), p.Env) {
				t.Errorf("%s: %s is missing", format, p.Name)
			}
		}
		if format == "json" {
			var decoded []property.Property
			if err := json.Unmarshal(b.Bytes(), &decoded); err != nil || !reflect.DeepEqual(decoded, Properties()) {
				t.Errorf("the properties do not survive JSON: %v", err)
			}
		}
	}
	err := WriteDoc(io.Discard, "html")
	if err == nil || err.Error() != `write documentation: format "html" must be text, markdown or json` {
		t.Errorf("got %v", err)
	}
	if err := WriteDoc(brokenWriter{}, "text"); !errors.Is(err, io.ErrClosedPipe) {
		t.Errorf("got %v", err)
	}
}

type brokenWriter struct{}

func (brokenWriter) Write([]byte) (int, error) { return 0, io.ErrClosedPipe }
