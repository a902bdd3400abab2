// SPDX-License-Identifier: Apache-2.0

package java_test

import (
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"example.org/app/internal/apierr"
	"example.org/app/internal/plugin"
	"example.org/app/internal/plugin/java"
	"example.org/app/internal/plugin/java/javatest"
)

// shapes loads the plugin that uses features specific to Java.
func shapes(t testing.TB, change func(*java.Options)) (uses, later plugin.Extension) {
	t.Helper()
	w := newWorld(t, change)
	w.server.config = map[string]any{"shapes": map[string]any{"name": "configured"}}
	m := w.load("shapes", javatest.Jar(t, javatest.Plugin{ID: "shapes", Version: "1", Class: "shapes.ShapesPlugin", Sources: javatest.Sources(t, "testdata/shapes")}))
	return m.Extensions()[0], m.Extensions()[1]
}

// TestShapes checks the features specific to Java: properties with defaults, bytes and objects
// in the storage, and asynchronous methods.
func TestShapes(t *testing.T) {
	t.Parallel()
	uses, later := shapes(t, nil)
	for what, want := range map[string]string{
		"config": "configured 5", "bytes": "[0, -1] 0 0 null", "json": "Kept[id=-9223372036854775808, name=👋]", "state": "STARTED",
	} {
		var out *plugin.ClientRequest
		if ok, err := uses.Call(t.Context(), plugin.TransformRequest, []any{&plugin.ClientRequest{ClientIP: what}}, &out); !ok || err != nil || out.ClientIP != want {
			t.Errorf("%s is %+v, %v, %v", what, out, ok, err)
		}
	}
	for method, want := range map[*plugin.Method]bool{plugin.TransformRequest: true, plugin.HandleRequest: false, plugin.CountActiveMeetings: true, plugin.CancelMeeting: false} {
		if uses.Implements(method) != want {
			t.Errorf("%s.%s is implemented: %v", method.Point.Name, method.Name, !want)
		}
	}
	var count int32
	if ok, err := uses.Call(t.Context(), plugin.CountActiveMeetings, []any{int64(0)}, &count); ok || err != nil {
		t.Errorf("a number that is null is %v, %v", ok, err)
	}

	if !later.Implements(plugin.HandleRequest) || !later.Implements(plugin.TransformRequest) {
		t.Error("methods that answer later are not seen")
	}
	var out *plugin.ClientRequest
	if ok, err := later.Call(t.Context(), plugin.TransformRequest, []any{&plugin.ClientRequest{}}, &out); !ok || err != nil || out.ClientIP != "later" {
		t.Errorf("later is %+v, %v, %v", out, ok, err)
	}
	answer := func(what string) (bool, error) {
		var r *plugin.RequestHandlerResult
		return later.Call(t.Context(), plugin.HandleRequest, []any{&plugin.ClientRequest{ClientIP: what}}, &r)
	}
	for _, what := range []string{"nothing", "null stage"} {
		if ok, err := answer(what); ok || err != nil {
			t.Errorf("%s later is %v, %v", what, ok, err)
		}
	}
	_, err := answer("refuse")
	if e, ok := errors.AsType[*apierr.Error](err); !ok || e.Code != 5010 || e.Reason != "later not" {
		t.Errorf("a refusal later is %v", err)
	}
	if _, err = answer("throw"); err == nil || !strings.Contains(err.Error(), "java.lang.IllegalStateException: later") {
		t.Errorf("an exception later is %v", err)
	}
}

// askShapes calls the plugin and returns its response.
func askShapes(t testing.TB, x plugin.Extension, what string, number int64) string {
	t.Helper()
	var out *plugin.ClientRequest
	if ok, err := x.Call(t.Context(), plugin.TransformRequest, []any{&plugin.ClientRequest{ClientIP: what, UserID: number}}, &out); !ok || err != nil {
		t.Fatalf("%s: %v, %v", what, ok, err)
	}
	return out.ClientIP
}

// leveled returns a log and an option that makes a host log to it at a variable level.
func leveled(level slog.Leveler) (*journal, func(*java.Options)) {
	log := &journal{}
	return log, func(o *java.Options) {
		o.Log = slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: level}))
	}
}

// TestDataFolder verifies that a plugin's data folder and its files persist when the plugin is
// reloaded.
func TestDataFolder(t *testing.T) {
	t.Parallel()
	data := filepath.Join(t.TempDir(), "not", "yet")
	for _, want := range []string{"1 line", "2 lines"} {
		uses, _ := shapes(t, func(o *java.Options) { o.Data = data })
		if got := askShapes(t, uses, "folder", 0); got != want {
			t.Errorf("the folder has %s, not %s", got, want)
		}
	}
	if text, err := os.ReadFile(filepath.Join(data, "shapes", "file.txt")); string(text) != "line\nline\n" {
		t.Errorf("the file has %q, %v", text, err)
	}
	uses, _ := shapes(t, nil)
	if _, err := uses.Call(t.Context(), plugin.TransformRequest, []any{&plugin.ClientRequest{ClientIP: "folder"}}, nil); err == nil || !strings.Contains(err.Error(), "no folders here") {
		t.Errorf("without a place: %v", err)
	}
}

// TestLogLevel verifies that plugins follow changes of the server's log level, and build no
// messages that are not logged.
func TestLogLevel(t *testing.T) {
	t.Parallel()
	var level slog.LevelVar
	log, change := leveled(&level)
	uses, _ := shapes(t, change)
	if got := askShapes(t, uses, "debug", 0); got != "false true 1" {
		t.Errorf("at INFO: %s", got)
	}
	level.Set(slog.LevelDebug)
	waitFor(t, "the plugin to know the level", func() bool { return askShapes(t, uses, "debug", 0) == "true true 2" })
	waitFor(t, "the lines", func() bool { return log.has("made 1", "plain 1", "made 2") })
	level.Set(slog.LevelError)
	waitFor(t, "the plugin to know the level", func() bool { return askShapes(t, uses, "debug", 0) == "false false 0" })
}

// BenchmarkDisabledLine measures log lines below the server's level.
func BenchmarkDisabledLine(b *testing.B) {
	_, change := leveled(slog.LevelInfo)
	uses, _ := shapes(b, change)
	askShapes(b, uses, "many debug lines", 200_000)
	nanos, err := strconv.ParseInt(askShapes(b, uses, "many debug lines", int64(b.N)), 10, 64)
	if err != nil {
		b.Fatal(err)
	}
	b.ReportMetric(float64(nanos)/float64(b.N), "ns/line")
}
