// SPDX-License-Identifier: Apache-2.0

package testkit

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"time"

	"example.org/app/internal/plugin"
	"example.org/app/internal/plugin/bundle"
	"example.org/app/internal/plugin/js"
	"example.org/app/internal/role"
)

// What the extension in kit.js implements.
var (
	listTests = &plugin.Method{
		Name: "list", Params: []plugin.Param{{Name: "timeout", Type: reflect.TypeFor[float64]()}}, Result: reflect.TypeFor[[]testInfo](),
	}
	runTest   = &plugin.Method{Name: "run", Params: []plugin.Param{{Name: "index", Type: reflect.TypeFor[int32]()}}}
	testPoint = &plugin.Point{Name: "TestRunner", Package: "im.app.test", Roles: role.All, Methods: []*plugin.Method{listTests, runTest}}
)

// A testInfo is a test that a file declares.
type testInfo struct {
	Name string `json:"name"`
	Skip bool   `json:"skip"`
}

// A script is a file of tests in its engine.
type script struct {
	runner *runner
	file   string
	// requests are those of plugins that kit.js has not taken yet.
	requests chan *request

	mu sync.Mutex
	// server is that of the running test; nil if there is none. problems are errors outside the
	// test itself.
	server   *server
	problems []error
	// log contains the warnings and errors of the test's servers.
	log []string
}

// kitModules are the modules that tests import, and the one that runs them.
var kitModules = map[string]string{
	"app:test":     "export { test, describe, beforeEach, afterEach, assert, start, until } from 'app:test/run';",
	"app:test/run": kit,
}

// file runs the matching tests of a file and reports whether there were any; the error is why the
// file cannot be run.
func (r *runner) file(ctx context.Context, path string, sum *Summary) (matched bool, err error) {
	built, err := bundle.Build(bundle.Options{
		Entry: path, Output: strings.TrimSuffix(path, filepath.Ext(path)) + ".bundle.js", Modules: kitModules,
		Main: fmt.Sprintf("import tests from 'app:test/run';\nimport %q;\nexport default tests;\n", "./"+filepath.Base(path)),
	})
	if err != nil {
		return false, err
	}
	s := &script{runner: r, file: path, requests: make(chan *request)}
	host, err := js.New(js.Options{
		Points: []*plugin.Point{testPoint}, Server: (*testServer)(s), Functions: s.functions(), Uncaught: s.problem,
		Log: slog.New(&saying{file: path, said: r.Said}), MemoryLimit: memoryLimit, Coverage: r.coverage, CoverageDir: filepath.ToSlash(filepath.Dir(path)),
	})
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, host.Close(context.WithoutCancel(ctx))) }()
	loading, cancel := context.WithTimeout(ctx, r.Timeout)
	defer cancel()
	module, err := host.Load(loading, plugin.Source{Name: filepath.Base(path), Data: built.Script})
	if err != nil {
		return false, err
	}
	if list := s.takeProblems(); len(list) > 0 {
		return false, errors.Join(list...)
	}
	return s.run(ctx, module.Extensions()[0], sum)
}

// memoryLimit is the memory limit of the engine of a file in bytes.
const memoryLimit = 256 << 20

// run runs the tests that the file declared.
func (s *script) run(ctx context.Context, tests plugin.Extension, sum *Summary) (matched bool, err error) {
	var list []testInfo
	if _, err := tests.Call(ctx, listTests, []any{float64(s.runner.Timeout.Milliseconds())}, &list); err != nil {
		return false, err
	}
	if len(list) == 0 {
		return false, errors.New("the file declares no test: import { test } from 'app:test' and call it")
	}
	for i, t := range list {
		if m := s.runner.Match; m != nil && !m.MatchString(t.Name) {
			continue
		}
		matched = true
		if ctx.Err() != nil {
			return matched, nil
		}
		o := Outcome{File: s.file, Test: t.Name, Skipped: t.Skip}
		if !t.Skip {
			begin := time.Now()
			o.Problems, o.Log = s.one(ctx, tests, i)
			o.Duration = time.Since(begin)
		}
		switch {
		case t.Skip:
			sum.Skipped++
		case len(o.Problems) > 0:
			sum.Failed++
		default:
			sum.Passed++
		}
		s.runner.Done(o)
	}
	return matched, nil
}

// one runs a test and returns why it failed, and what was logged.
func (s *script) one(ctx context.Context, tests plugin.Extension, i int) (problems []error, log []string) {
	limited, cancel := context.WithTimeout(ctx, s.runner.Timeout)
	defer cancel()
	_, err := tests.Call(limited, runTest, []any{int32(i)}, nil)
	if errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil {
		err = fmt.Errorf("the test did not end within %s", s.runner.Timeout)
	}
	if err := s.stopServer(); err != nil {
		s.problem(fmt.Errorf("stop the server: %w", err))
	}
	problems = s.takeProblems()
	if err != nil {
		problems = append([]error{err}, problems...)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(problems) > 0 {
		log = s.log
	}
	s.log = nil
	return problems, log
}

// problem records an error outside the test itself.
func (s *script) problem(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.problems = append(s.problems, err)
}

func (s *script) takeProblems() []error {
	s.mu.Lock()
	defer s.mu.Unlock()
	list := s.problems
	s.problems = nil
	return list
}

func init() {
	for _, m := range testPoint.Methods {
		m.Point = testPoint
	}
}
