// SPDX-License-Identifier: Apache-2.0

package inspector

import (
	"archive/tar"
	"compress/gzip"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"

	"example.org/app/internal/plugin/js/engine"
)

// TestConformance runs the tests of ECMAScript (https://github.com/tc39/test262) with and without
// probes, and expects the same outcomes. APP_TEST262 is a folder with a copy of that repository,
// APP_TEST262_EVERY selects each nth test; make conformance sets both. Without them, the test runs
// a sample, testdata/test262.tar.gz: of the tests in test/language at commit be13516fb6 that have
// variants and are shorter than 6,000 bytes, each thirtieth, with their harness and licence.
func TestConformance(t *testing.T) {
	every := 1
	if n, err := strconv.Atoi(os.Getenv("APP_TEST262_EVERY")); err == nil && n > 0 {
		every = n
	}
	if dir := os.Getenv("APP_TEST262"); dir != "" {
		conform(t, os.DirFS(dir), every)
		return
	}
	if testing.Short() {
		every = 10
	}
	if ran := conform(t, unpack(t, "testdata/test262.tar.gz"), every); ran < 1000/every {
		t.Errorf("only %d runs", ran)
	}
}

// unpack returns the files of an archive.
func unpack(t *testing.T, file string) fs.FS {
	t.Helper()
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	plain, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	files := fstest.MapFS{}
	archive := tar.NewReader(plain)
	for {
		h, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return files
		}
		if err != nil {
			t.Fatal(err)
		}
		data, err := io.ReadAll(archive)
		if err != nil {
			t.Fatal(err)
		}
		files[h.Name] = &fstest.MapFile{Data: data}
	}
}

// conform runs each nth test in a copy of test262, and returns the number of runs.
func conform(t *testing.T, tree fs.FS, every int) int {
	t.Helper()
	s, err := Listen(t.Context(), Options{Host: "127.0.0.1"})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close(context.Background()) }()
	found, ran, passed, without := 0, 0, 0, 0
	err = fs.WalkDir(tree, "test", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(name, ".js") || strings.Contains(name, "_FIXTURE") {
			return err
		}
		if found++; found%every != 0 {
			return nil
		}
		data, err := fs.ReadFile(tree, name)
		if err != nil {
			return err
		}
		for _, source := range variants(string(data)) {
			harness, err := harnessOf(tree, string(data))
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
	return ran
}

const strictly = "\"use strict\";\n"

var (
	metadata = regexp.MustCompile(`(?s)/\*---(.*?)---\*/`)
	flags    = regexp.MustCompile(`flags:\s*\[([^\]]*)\]`)
	includes = regexp.MustCompile(`includes:\s*\[([^\]]*)\]`)
)

// variants returns the modes of a test: sloppy and strict. Tests of modules, asynchronous tests and
// those that need another realm have none.
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

// harnessOf returns the code that a test requires.
func harnessOf(tree fs.FS, source string) (string, error) {
	names := []string{"assert.js", "sta.js"}
	if m := includes.FindStringSubmatch(metadata.FindString(source)); m != nil {
		for name := range strings.SplitSeq(m[1], ",") {
			names = append(names, strings.TrimSpace(name))
		}
	}
	var b strings.Builder
	for _, name := range names {
		data, err := fs.ReadFile(tree, path.Join("harness", name))
		if err != nil {
			return "", err
		}
		b.Write(data)
		b.WriteString("\n")
	}
	return b.String(), nil
}

// outcomes returns the outcomes of a test without and with probes; ok is false if it cannot have
// any.
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
		// Code that cannot be compiled with probes runs without them.
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
