// SPDX-License-Identifier: Apache-2.0

// Package testkit runs tests of plugins, written in JavaScript and TypeScript: each file in its own
// engine, each test with its own server if it starts one. The server is the real one, with the
// plugin, in a folder that is removed afterwards; the test controls the clock and the network of
// the plugin.
//
// It is not for tests of this server, which are written in Go.
package testkit

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"example.org/app/internal/plugin/js"
)

//go:embed kit.js
var kit string

// Options configures Run.
type Options struct {
	// Paths are test files, or folders to search for them.
	Paths []string
	// Match selects tests by name; nil means all.
	Match *regexp.Regexp
	// Timeout is the time limit of a test.
	Timeout time.Duration
	// Coverage enables counting the executed lines.
	Coverage bool
	// Said receives the output of tests by console and app.log; nil drops it.
	Said func(file, text string)
	// Done is called after each test, and for each file that cannot be run.
	Done func(Outcome)
}

// An Outcome is the result of a test.
type Outcome struct {
	// File is the path of the file; Test is empty if the file cannot be run.
	File, Test string
	Skipped    bool
	// Problems are the reasons of its failure; empty if it passed.
	Problems []error
	// Log contains the warnings and errors of the plugin, and of the server about it, if the test
	// failed.
	Log      []string
	Duration time.Duration
}

// A Summary counts tests.
type Summary struct {
	Files, Passed, Failed, Skipped int
	// Broken is the number of files that could not be run.
	Broken   int
	Duration time.Duration
	// Lines counts the executions of the lines with statements of the plugins and their imports, by
	// file; nil without Coverage.
	Lines map[string]map[int]int
}

// OK reports whether all tests passed, and at least one ran.
func (s Summary) OK() bool { return s.Failed == 0 && s.Broken == 0 && s.Passed > 0 }

// testFile matches the names of test files.
var testFile = regexp.MustCompile(`\.test\.(js|mjs|ts)$`)

// Find returns the test files: the given ones, and those in the given folders, except package
// folders and hidden ones.
func Find(paths []string) (files []string, err error) {
	for _, path := range paths {
		info, err := os.Stat(path)
		if err == nil {
			path, err = filepath.Abs(path)
		}
		if err != nil {
			return nil, fmt.Errorf("look for tests: %w", err)
		}
		if !info.IsDir() {
			if !testFile.MatchString(path) {
				return nil, fmt.Errorf("look for tests: %q is not a file with tests: its name must end in .test.js, .test.mjs or .test.ts", path)
			}
			files = append(files, path)
			continue
		}
		err = filepath.WalkDir(path, func(file string, d fs.DirEntry, err error) error {
			switch {
			case err != nil:
				return err
			case d.IsDir() && file != path && isForeign(d.Name()):
				return filepath.SkipDir
			case !d.IsDir() && testFile.MatchString(d.Name()):
				files = append(files, file)
			}
			return nil
		})
		if err != nil {
			return nil, fmt.Errorf("look for tests: %w", err)
		}
	}
	slices.Sort(files)
	if files = slices.Compact(files); len(files) == 0 {
		return nil, fmt.Errorf("no tests found in %s: their files end in .test.js, .test.mjs or .test.ts", strings.Join(paths, ", "))
	}
	return files, nil
}

// sourceFile matches the names of files that tests may depend on.
var sourceFile = regexp.MustCompile(`\.(js|mjs|ts|json)$`)

// Stamp returns a text that changes when a source in one of the folders, or in the folder of a
// given file, changes. Package folders and hidden ones are ignored.
func Stamp(paths []string) string {
	var b strings.Builder
	for _, path := range paths {
		if testFile.MatchString(path) {
			path = filepath.Dir(path)
		}
		_ = filepath.WalkDir(path, func(file string, d fs.DirEntry, err error) error {
			switch {
			case err != nil:
				return nil // Just removed.
			case d.IsDir() && file != path && isForeign(d.Name()):
				return filepath.SkipDir
			case !d.IsDir() && sourceFile.MatchString(d.Name()):
				if info, err := d.Info(); err == nil {
					fmt.Fprintf(&b, "%s %d %d\n", file, info.Size(), info.ModTime().UnixNano())
				}
			}
			return nil
		})
	}
	return b.String()
}

// isForeign reports whether a folder contains packages or is hidden.
func isForeign(name string) bool {
	return name == "node_modules" || strings.HasPrefix(name, ".") && name != "." && name != ".."
}

// Run runs the tests, one after another. The error says why they could not be run at all; failed
// tests are in the summary.
func Run(ctx context.Context, o Options) (s Summary, err error) {
	begin := time.Now()
	files, err := Find(o.Paths)
	if err != nil {
		return s, err
	}
	home, err := os.MkdirTemp("", "app-plugin-test-")
	if err != nil {
		return s, fmt.Errorf("make a folder for the servers of tests: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(home)) }()
	r := &runner{Options: o, home: home}
	if o.Coverage {
		r.coverage = js.NewCoverage()
		defer r.coverage.Close()
	}
	matched := false
	for _, file := range files {
		if ctx.Err() != nil {
			break
		}
		s.Files++
		ran, err := r.file(ctx, file, &s)
		matched = matched || ran
		if err != nil {
			s.Broken++
			o.Done(Outcome{File: file, Problems: []error{err}})
		}
	}
	s.Duration = time.Since(begin)
	if r.coverage != nil {
		s.Lines = r.coverage.Lines()
		maps.DeleteFunc(s.Lines, func(file string, _ map[int]int) bool { return !isCovered(file) })
	}
	switch {
	case ctx.Err() != nil:
		return s, fmt.Errorf("run tests: %w", ctx.Err())
	case !matched && s.Broken == 0:
		return s, fmt.Errorf("no test has a name that matches %q", o.Match)
	}
	return s, nil
}

// isCovered reports whether the coverage includes a file: it exists, and is neither a test nor part
// of a package.
func isCovered(file string) bool {
	if testFile.MatchString(file) || slices.Contains(strings.Split(file, "/"), "node_modules") {
		return false
	}
	info, err := os.Stat(filepath.FromSlash(file))
	return err == nil && info.Mode().IsRegular()
}

// runner runs the files of one call of Run.
type runner struct {
	Options
	// home is the folder of all files of servers; servers counts them.
	home    string
	servers int
	// coverage counts lines; nil if disabled.
	coverage *js.Coverage
}

// Name is the name in stack traces of the module that runs tests.
const Name = "app:test/run"
