// SPDX-License-Identifier: Apache-2.0

package js

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"path"
	"strings"
	"time"

	"example.org/app/internal/plugin/js/engine"
)

// resourceTimeout is how long the download of a script may take.
const resourceTimeout = 30 * time.Second

// resolve makes the name of an import the name of a resource: a path in the folder of the plugin, or a URL.
func (m *module) resolve(base, name string) (string, error) {
	full, err := m.absolute(base, name)
	if m.imports != nil && base == m.name {
		m.imports[full], m.imports[name] = name, name
	}
	return full, err
}

func (m *module) absolute(base, name string) (string, error) {
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

// source reads the source of a module that is imported.
func (m *module) source(name string) (string, error) {
	s, err := m.read(name)
	if err != nil {
		return "", fmt.Errorf("import %q: %w", shorten(name), err)
	}
	return m.runnable(name, m.pathOf(name), s, true), nil
}

// loadScript is the global function load: it runs a script in the global scope and returns its last value.
func (m *module) loadScript(_ engine.Value, args []engine.Value) (engine.Value, error) {
	v := argument(args, 0)
	if engine.IsObject(v) {
		return m.loadGiven(v)
	}
	if !engine.IsString(v) {
		return engine.Undefined, mismatchf("load: a path, a URL or an object with name and script is expected, not %s", m.engine.TypeOf(v))
	}
	name := m.text(v)
	if !isURL(name) {
		name = path.Clean(strings.TrimPrefix(name, "./"))
	}
	s, err := m.read(name)
	if err != nil {
		return engine.Undefined, fmt.Errorf("load %q: %w", shorten(name), err)
	}
	return m.runScript(name, s)
}

// loadGiven runs a script that the plugin gives itself, as {name, script}.
func (m *module) loadGiven(v engine.Value) (engine.Value, error) {
	var texts [2]string
	for i, key := range []string{"name", "script"} {
		p := m.engine.GetName(v, key)
		if engine.IsFailed(p) {
			return p, engine.Thrown()
		}
		defer m.engine.Free(p)
		if !engine.IsString(p) {
			return engine.Undefined, mismatchf("load: %s must be a string, not %s", key, m.engine.TypeOf(p))
		}
		texts[i] = m.text(p)
	}
	return m.runScript(texts[0], texts[1])
}

// runScript runs a script in the global scope.
func (m *module) runScript(name, script string) (engine.Value, error) {
	r := m.engine.Eval(name, m.runnable(name, m.pathOf(name), script, false))
	if engine.IsFailed(r) {
		return r, engine.Thrown()
	}
	return r, nil
}

func isURL(name string) bool {
	return strings.HasPrefix(name, "http://") || strings.HasPrefix(name, "https://")
}

// read reads a resource: a file of the plugin's folder or what a URL gives. The goroutine of the plugin waits for it.
func (m *module) read(name string) (string, error) {
	if isURL(name) {
		ctx := m.ctx
		if c := m.current.Load(); c != nil && c.ctx != nil {
			var cancel context.CancelFunc
			ctx, cancel = context.WithCancel(c.ctx)
			defer cancel()
			defer context.AfterFunc(m.ctx, cancel)()
		}
		res, err := m.send(ctx, m.client(), request{url: name, method: http.MethodGet, timeout: resourceTimeout, redirect: "follow"})
		if err != nil {
			return "", err
		}
		if res.status != http.StatusOK {
			return "", fmt.Errorf("the status is %d", res.status)
		}
		return string(res.body), nil
	}
	if m.folder == nil {
		return "", errors.New("the plugin lies in no folder; give a URL")
	}
	f, err := m.folder.Open(name)
	if err != nil {
		return "", fmt.Errorf("read a file in the folder of the plugin: %w", err)
	}
	defer f.Close()
	if info, err := f.Stat(); err == nil && !info.Mode().IsRegular() {
		return "", errors.New("it is not a file")
	}
	data, err := io.ReadAll(io.LimitReader(f, m.host.opts.ResponseLimit+1))
	if err != nil {
		return "", err
	}
	if int64(len(data)) > m.host.opts.ResponseLimit {
		return "", fmt.Errorf("the file is longer than %d bytes", m.host.opts.ResponseLimit)
	}
	return string(data), nil
}
