// SPDX-License-Identifier: Apache-2.0

// Package testkit runs the tests that authors of plugins write in JavaScript and TypeScript: each file in an engine of its own,
// each test with a server of its own if it starts one. The server is the real one, with the plugin, in a folder that is removed
// afterwards; the clock and the network of the plugin are in the hands of the test.
//
// It is not for tests of this server: those are written in Go.
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

// Options say what is run.
type Options struct {
	// Paths are files with tests, or folders in which they are looked for.
	Paths []string
	// Match selects tests by their names; nil is all.
	Match *regexp.Regexp
	// Timeout is how long a test may take.
	Timeout time.Duration
	// Coverage counts the lines that run.
	Coverage bool
	// Said gets what tests write with console and app.log; nil drops it.
	Said func(file, text string)
	// Done is told of each test when it has ended, and of each file that cannot be run.
	Done func(Outcome)
}

// An Outcome is what became of a test.
type Outcome struct {
	// File is the path of the file; Test is empty if the file cannot be run.
	File, Test string
	Skipped    bool
	// Problems are why it failed; none if it did not.
	Problems []error
	// Log are the warnings and errors of the plugin, and of the server about it, if the test failed.
	Log      []string
	Duration time.Duration
}

// A Summary counts tests.
type Summary struct {
	Files, Passed, Failed, Skipped int
	// Broken are the files that could not be run.
	Broken   int
	Duration time.Duration
	// Lines are how often the lines with statements of the plugins and of what they import ran, by file; nil if nobody asked.
	Lines map[string]map[int]int
}

// OK reports whether everything that ran passed, and something did.
func (s Summary) OK() bool { return s.Failed == 0 && s.Broken == 0 && s.Passed > 0 }

// testFile is the name of a file with tests.
var testFile = regexp.MustCompile(`\.test\.(js|mjs|ts)$`)

// Find returns the files with tests: those that are named, and those in the folders that are named, without the folders of
// packages and hidden ones.
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

// sourceFile is the name of a file that tests may depend on.
var sourceFile = regexp.MustCompile(`\.(js|mjs|ts|json)$`)

// Stamp is a text that changes when a source in one of the folders does, or in the folder of a file that is named. Packages and
// hidden folders do not count.
func Stamp(paths []string) string {
	var b strings.Builder
	for _, path := range paths {
		if testFile.MatchString(path) {
			path = filepath.Dir(path)
		}
		_ = filepath.WalkDir(path, func(file string, d fs.DirEntry, err error) error {
			switch {
			case err != nil:
				return nil // It has just gone.
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

// isForeign reports whether a folder holds packages or is hidden.
func isForeign(name string) bool {
	return name == "node_modules" || strings.HasPrefix(name, ".") && name != "." && name != ".."
}

// Run runs the tests, one after another. The error says why they could not be run at all; tests that fail are in the summary.
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

// isCovered reports whether a file is of interest: it exists, and is neither a test nor part of a package.
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
	// home is the folder of everything that servers write; servers counts them.
	home    string
	servers int
	// coverage counts lines; nil counts none.
	coverage *js.Coverage
}

// Name is how the module that runs tests is called in stack traces.
const Name = "app:test/run"
