// SPDX-License-Identifier: Apache-2.0

package js

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"

	"example.org/app/internal/plugin/js/engine"
	"example.org/app/internal/plugin/js/inspector"
)

// resourceTimeout bounds the download of a script.
const resourceTimeout = 30 * time.Second

// scripts are the files of a plugin: its imports and loaded scripts, with the mapping from running
// code to sources.
type scripts struct {
	m *module
	// folder is the plugin's folder; nil if there is none.
	folder *os.Root
	// maps are the source maps of the scripts, by name.
	maps map[string]*sourceMap
	// covered are the scripts whose lines are counted, by name.
	covered map[string]*inspector.Covered
}

// resolve converts the name of an import to that of a resource: a path in the plugin's folder, or a
// URL.
func (ss *scripts) resolve(base, name string) (string, error) {
	full, err := ss.absolute(base, name)
	if ss.m.loading != nil && base == ss.m.name {
		ss.m.loading.imports[full], ss.m.loading.imports[name] = name, name
	}
	return full, err
}

func (ss *scripts) absolute(base, name string) (string, error) {
	if isURL(name) {
		return name, nil
	}
	if !strings.HasPrefix(name, "./") && !strings.HasPrefix(name, "../") && !strings.HasPrefix(name, "/") {
		return "", fmt.Errorf("import %q: Node.js modules and packages cannot be used in a plugin; import a file by a path that begins with ./, or a URL", shorten(name))
	}
	if isURL(base) {
		b, err := url.Parse(base)
		if err != nil {
			return "", err
		}
		u, err := b.Parse(name)
		if err != nil {
			return "", err
		}
		return u.String(), nil
	}
	if strings.HasPrefix(name, "/") {
		return "", fmt.Errorf("import %q: the path must begin with ./", shorten(name))
	}
	return path.Join(path.Dir(base), name), nil
}

// source reads the source of an imported module.
func (ss *scripts) source(name string) (string, error) {
	s, err := ss.read(name)
	if err != nil {
		return "", fmt.Errorf("import %q: %w", shorten(name), err)
	}
	return ss.runnable(name, ss.pathOf(name), s, true), nil
}

// load is the global function load: it runs a script in the global scope and returns its last
// value.
func (ss *scripts) load(_ engine.Value, args []engine.Value) (engine.Value, error) {
	v := argument(args, 0)
	if engine.IsObject(v) {
		return ss.loadGiven(v)
	}
	if !engine.IsString(v) {
		return engine.Undefined, mismatchf("load: a path, a URL or an object with name and script is expected, not %s", ss.m.engine.TypeOf(v))
	}
	name := ss.m.t.text(v)
	if !isURL(name) {
		name = path.Clean(strings.TrimPrefix(name, "./"))
	}
	s, err := ss.read(name)
	if err != nil {
		return engine.Undefined, fmt.Errorf("load %q: %w", shorten(name), err)
	}
	return ss.run(name, s)
}

// loadGiven runs a script that the plugin passes as {name, script}.
func (ss *scripts) loadGiven(v engine.Value) (engine.Value, error) {
	var texts [2]string
	for i, key := range []string{"name", "script"} {
		p := ss.m.engine.GetName(v, key)
		if engine.IsFailed(p) {
			return p, engine.Thrown()
		}
		defer ss.m.engine.Free(p)
		if !engine.IsString(p) {
			return engine.Undefined, mismatchf("load: %s must be a string, not %s", key, ss.m.engine.TypeOf(p))
		}
		texts[i] = ss.m.t.text(p)
	}
	return ss.run(texts[0], texts[1])
}

// run runs a script in the global scope.
func (ss *scripts) run(name, script string) (engine.Value, error) {
	r := ss.m.engine.Eval(name, ss.runnable(name, ss.pathOf(name), script, false))
	if engine.IsFailed(r) {
		return r, engine.Thrown()
	}
	return r, nil
}

func isURL(name string) bool {
	return strings.HasPrefix(name, "http://") || strings.HasPrefix(name, "https://")
}

// read reads a resource: a file of the plugin's folder or a URL. It blocks the plugin's goroutine.
func (ss *scripts) read(name string) (string, error) {
	if isURL(name) {
		ctx := ss.m.ctx
		if c := ss.m.turns.current.Load(); c != nil && c.ctx != nil {
			var cancel context.CancelFunc
			ctx, cancel = context.WithCancel(c.ctx)
			defer cancel()
			defer context.AfterFunc(ss.m.ctx, cancel)()
		}
		res, err := ss.m.host.send(ctx, ss.m.network.client(), request{url: name, method: http.MethodGet, timeout: resourceTimeout, redirect: "follow"})
		if err != nil {
			return "", err
		}
		if res.status != http.StatusOK {
			return "", fmt.Errorf("the status is %d", res.status)
		}
		return string(res.body), nil
	}
	if ss.folder == nil {
		return "", errors.New("the plugin lies in no folder; give a URL")
	}
	f, err := ss.folder.Open(name)
	if err != nil {
		return "", fmt.Errorf("read a file in the folder of the plugin: %w", err)
	}
	defer f.Close()
	if info, err := f.Stat(); err == nil && !info.Mode().IsRegular() {
		return "", errors.New("it is not a file")
	}
	data, err := io.ReadAll(io.LimitReader(f, ss.m.host.opts.ResponseLimit+1))
	if err != nil {
		return "", err
	}
	if int64(len(data)) > ss.m.host.opts.ResponseLimit {
		return "", fmt.Errorf("the file is longer than %d bytes", ss.m.host.opts.ResponseLimit)
	}
	return string(data), nil
}

// runnable returns the code to run for a script: without its source map, or instrumented for
// debugging. path is the path of the script, "" if it is not in a file.
func (ss *scripts) runnable(name, path, script string, isModule bool) string {
	code, reference := ss.withoutMap(name, script)
	if ss.m.debug.target == nil {
		if ss.m.host.opts.Coverage != nil {
			return ss.cover(name, code, isModule)
		}
		return code
	}
	s := inspector.Script{Name: name, URL: ss.url(name, path), Source: script, Code: code, Module: isModule}
	if found := ss.maps[name]; found != nil {
		s.Map = found.data
		if strings.HasPrefix(reference, "data:") {
			s.MapURL = reference
		}
	}
	return ss.m.debug.target.Instrument(s)
}

// withoutProbes compiles the original script if the instrumented one cannot be compiled. If that
// fails as well, the script's own error is the pending one.
func (ss *scripts) withoutProbes(compile func() engine.Value) engine.Value {
	x := ss.m.engine.Exception()
	defer ss.m.engine.Free(x.Value)
	if ss.m.debug.target != nil {
		ss.m.debug.target.Forget()
	}
	delete(ss.covered, ss.m.name)
	compiled := compile()
	if !engine.IsFailed(compiled) {
		ss.m.log.Warn("a script runs without probes for debuggers and coverage: it cannot be prepared for them", "script", ss.m.name, "error", x.Message)
	}
	return compiled
}

// pathOf returns the path of a script in the plugin's folder.
func (ss *scripts) pathOf(name string) string {
	if ss.folder == nil || isURL(name) {
		return ""
	}
	return filepath.Join(ss.folder.Name(), filepath.FromSlash(name))
}

// url returns the name of a script for debuggers, which open files by it.
func (ss *scripts) url(name, path string) string {
	if path == "" {
		return name
	}
	if abs, err := filepath.Abs(path); err == nil {
		path = abs
	}
	return (&url.URL{Scheme: "file", Path: filepath.ToSlash(path)}).String()
}

// authored translates positions in a text, in the form of a stack trace, from running code to the
// author's source.
func (ss *scripts) authored(text string) string {
	if ss.m.debug.target != nil {
		text = ss.m.debug.target.Original(text)
	}
	return ss.sourced(ss.uncovered(text))
}

// open sets the plugin's folder.
func (ss *scripts) open(path string) error {
	if path == "" {
		return nil
	}
	root, err := os.OpenRoot(filepath.Dir(path))
	if err != nil {
		return err
	}
	ss.folder = root
	return nil
}
