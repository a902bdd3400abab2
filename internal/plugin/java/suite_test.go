// SPDX-License-Identifier: Apache-2.0

package java_test

import (
	"log/slog"
	"testing"
	"time"

	"example.org/app/internal/plugin"
	"example.org/app/internal/plugin/java"
	"example.org/app/internal/plugin/java/javatest"
	"example.org/app/internal/plugin/plugintest"
)

// descriptors contains the plugin.yaml of each fixture.
var descriptors = map[plugintest.Fixture]string{
	plugintest.Echo: "id: suite-echo\nversion: 1.2.3\nclass: echo.EchoPlugin\nprovider: the suite\nlicense: MIT\ndescription: answers 👋\n" +
		"compatible-servers:\n  - type: GATEWAY\n  - type: SERVICE\n",
	plugintest.Life:         "id: suite-life\nversion: 1\nclass: life.LifePlugin\n",
	plugintest.Acts:         "id: suite-acts\nversion: 1\nclass: acts.ActsPlugin\n",
	plugintest.Acts2:        "id: suite-acts\nversion: 2\nclass: acts.ActsPlugin\n",
	plugintest.BadSuccessor: "id: suite-acts\nversion: 3\nclass: bad.BadPlugin\n",
	plugintest.ForGateway:   "id: suite-gateway\nversion: 1\nclass: gateway.GatewayPlugin\ncompatible-server: app-gateway\n",
	plugintest.Broken:       "id: suite-broken\nversion: 1\nclass: broken.BrokenPlugin\n",
	plugintest.Endless:      "id: suite-endless\nversion: 1\nclass: endless.EndlessPlugin\n",
	plugintest.Pending:      "id: suite-pending\nversion: 1\nclass: pending.PendingPlugin\n",
	plugintest.Uses:         "id: suite-uses\nversion: 1\nclass: uses.UsesPlugin\n",
	plugintest.Scheduled:    "id: suite-scheduled\nversion: 1\nclass: scheduled.ScheduledPlugin\n",
	plugintest.Bridged:      "id: suite-bridged\nversion: 1\nclass: bridged.BridgedPlugin\n",
	plugintest.Settled: `id: suite-settled
version: 1
class: settled.SettledPlugin
settings:
  type: object
  required: [token]
  properties:
    greeting: {type: string, minLength: 1, maxLength: 10, default: hi}
    count: {type: integer, minimum: 0, default: 9007199254740991}
    token: {type: string, minLength: 3, writeOnly: true}
    limits:
      type: object
      properties:
        rates: {type: array, items: {type: number}, default: [0.5]}
`,
}

// TestSuite runs the suite for all languages, with a JVM for each test.
func TestSuite(t *testing.T) {
	javatest.Home(t)
	sources := javatest.Sources(t, "testdata/suite")
	plugintest.Run(t, plugintest.Language{
		Suffix: ".jar", Parallel: true,
		NewHost: func(t testing.TB, server plugin.Server) plugin.Host {
			h, err := java.New(java.Options{
				Log:       slog.New(slog.NewTextHandler(t.Output(), &slog.HandlerOptions{Level: slog.LevelWarn})),
				Isolation: java.Auto, Server: server, Folder: t.TempDir(), Flags: javatest.Quick, ClassCache: javatest.ClassCache(), HookTimeout: func() time.Duration { return patience },
			})
			if err != nil {
				t.Fatal(err)
			}
			return h
		},
		Fixture: func(t testing.TB, f plugintest.Fixture) []byte {
			return javatest.Jar(t, javatest.Plugin{Descriptor: descriptors[f], Sources: sources})
		},
		Corpus: func(t testing.TB) (list []plugintest.Bad) {
			for _, a := range plugintest.Archives {
				list = append(list, plugintest.Bad{Kind: a.Kind, Data: javatest.Jar(t, javatest.Plugin{
					Descriptor: "id: suite-bad\nversion: 1\nclass: corpus.CorpusPlugin\n", Sources: sources, Files: map[string]string{"kind.txt": a.Kind},
				})})
			}
			return list
		},
	})
}
