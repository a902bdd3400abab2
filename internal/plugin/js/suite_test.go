// SPDX-License-Identifier: Apache-2.0

package js

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
	"time"

	"example.org/app/internal/plugin"
	"example.org/app/internal/plugin/plugintest"
)

// TestSuite runs what every language must pass.
func TestSuite(t *testing.T) {
	l := plugintest.Language{
		Suffix: ".js",
		NewHost: func(t testing.TB, server plugin.Server) plugin.Host {
			h, err := New(Options{Points: plugin.Points, Server: server, StuckLimit: time.Second})
			if err != nil {
				t.Fatal(err)
			}
			return h
		},
		Fixture: fixture,
		Corpus:  func(testing.TB) []plugintest.Bad { return plugintest.Scripts() },
	}
	if raceDetector { // It makes the engine some fifty times slower.
		l.Rounds = 15
	}
	plugintest.Run(t, l)
}

// fixture returns a plugin of the suite.
func fixture(t testing.TB, f plugintest.Fixture) []byte {
	t.Helper()
	name := f
	if f == plugintest.Acts2 {
		name = plugintest.Acts
	}
	data, err := os.ReadFile(filepath.Join("testdata", "suite", string(name)+".js"))
	if err != nil {
		t.Fatal(err)
	}
	if f == plugintest.Acts2 {
		data = bytes.Replace(data, []byte("version = '1'"), []byte("version = '2'"), 1)
	}
	return data
}
