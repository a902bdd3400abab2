// SPDX-License-Identifier: Apache-2.0

package inspector

import (
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"example.org/app/internal/plugin/js/engine"
)

// TestConformance runs the tests of ECMAScript (https://github.com/tc39/test262) with probes and without, and wants the same
// outcome. APP_TEST262 is a folder with a copy of that repository, APP_TEST262_EVERY takes only each so many of them; make
// conformance sets both.
func TestConformance(t *testing.T) {
	dir := os.Getenv("APP_TEST262")
	if dir == "" {
		t.Skip("APP_TEST262 names no copy of test262")
	}
	every := 1
	if n, err := strconv.Atoi(os.Getenv("APP_TEST262_EVERY")); err == nil && n > 0 {
		every = n
	}
	s, err := Listen(t.Context(), Options{Host: "127.0.0.1"})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close(context.Background()) }()
	found, ran, passed, without := 0, 0, 0, 0
	err = filepath.WalkDir(filepath.Join(dir, "test"), func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".js") || strings.Contains(path, "_FIXTURE") {
			return err
		}
		if found++; found%every != 0 {
			return nil
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		for _, source := range variants(string(data)) {
			harness, err := harnessOf(dir, string(data))
			if err != nil {
				return err
			}
			ran++
			want, got, ok := outcomes(t, s, harness, source)
			if want == "" {
				passed++
			}
			if !ok {
				without++
			} else if got != want {
				name, _ := filepath.Rel(dir, path)
				t.Errorf("%s (strict: %t): with probes %q, without %q", name, strings.HasPrefix(source, strictly), got, want)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if passed == 0 {
		t.Error("no test passes")
	}
	t.Logf("%d runs, of which %d end without an exception; %d have no probes because they cannot be parsed as ECMAScript 2022", ran, passed, without)
}

const strictly = "\"use strict\";\n"

var (
	metadata = regexp.MustCompile(`(?s)/\*---(.*?)---\*/`)
	flags    = regexp.MustCompile(`flags:\s*\[([^\]]*)\]`)
	includes = regexp.MustCompile(`includes:\s*\[([^\]]*)\]`)
)

// variants are the ways in which a test is run: sloppy and strict. Tests of modules, those that end later and those that need
// another realm have none.
func variants(source string) []string {
	head := metadata.FindString(source)
	list := ""
	if m := flags.FindStringSubmatch(head); m != nil {
		list = m[1]
	}
	for _, flag := range []string{"module", "async", "raw", "CanBlock"} {
		if strings.Contains(list, flag) {
			return nil
		}
	}
	switch {
	case strings.Contains(source, "$262"):
		return nil
	case strings.Contains(list, "onlyStrict"):
		return []string{strictly + source}
	case strings.Contains(list, "noStrict"):
		return []string{source}
	}
	return []string{source, strictly + source}
}

// harnessOf is what a test finds in its engine.
func harnessOf(dir, source string) (string, error) {
	names := []string{"assert.js", "sta.js"}
	if m := includes.FindStringSubmatch(metadata.FindString(source)); m != nil {
		for name := range strings.SplitSeq(m[1], ",") {
			names = append(names, strings.TrimSpace(name))
		}
	}
	var b strings.Builder
	for _, name := range names {
		data, err := os.ReadFile(filepath.Join(dir, "harness", name))
		if err != nil {
			return "", err
		}
		b.Write(data)
		b.WriteString("\n")
	}
	return b.String(), nil
}

// outcomes are what a test does without probes and with them; ok is false if it cannot have any.
func outcomes(t *testing.T, s *Server, harness, source string) (want, got string, ok bool) {
	t.Helper()
	want = outcome(t, harness, source, source, nil)
	r, err := s.instrumenter.instrument(source, false, 0)
	if err != nil {
		return want, "", false
	}
	got = outcome(t, harness, r.Code, source, func(e *engine.Engine) *Target {
		target := s.Add(Plugin{Title: "test.js", Engine: e, Own: func(func()) {}, Resumed: func() {}})
		if err := target.Install(); err != nil {
			t.Fatal(err)
		}
		target.Instrument(Script{Name: "test.js", URL: "test.js", Source: source, Code: source})
		return target
	})
	return want, got, true
}

// outcome runs a test and returns what it throws.
func outcome(t *testing.T, harness, code, original string, target func(*engine.Engine) *Target) (text string) {
	t.Helper()
	e, err := engine.New(engine.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	if target != nil {
		debugged := target(e)
		defer func() {
			debugged.Close()
			<-debugged.Ended()
		}()
	}
	if target != nil {
		// What cannot be compiled with probes runs without them.
		v := e.CompileScript("test.js", code)
		if engine.IsFailed(v) {
			e.Drop()
			code = original
		} else {
			e.Free(v)
		}
	}
	for _, c := range []string{harness, code} {
		v := e.Eval("test.js", c)
		if engine.IsFailed(v) {
			x := e.Exception()
			e.Free(x.Value)
			return x.Message
		}
		e.Free(v)
	}
	return ""
}
