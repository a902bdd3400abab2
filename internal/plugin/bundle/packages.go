// SPDX-License-Identifier: Apache-2.0

package bundle

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/evanw/esbuild/pkg/api"

	"example.org/app/internal/plugin/bundle/npm"
)

// packages are the packages of a lock file that a script needs. Imports are only known during the
// build, and esbuild does not retry missing files: a build with missing packages is repeated with
// them.
type packages struct {
	lock *npm.Lock
	tree *npm.Tree
	// text is the content of the lock file.
	text []byte
	// names replaces the folder of the packages in the script, and sources in its source map, by
	// node_modules.
	names, sources *strings.Replacer

	mu      sync.Mutex
	missing map[string]bool
}

// packages returns nil if packages are installed in node_modules, or there is no lock file.
func (o Options) packages(b *api.BuildOptions) (*packages, error) {
	lock, err := npm.Find(b.AbsWorkingDir)
	if lock == nil || err != nil {
		return nil, err
	}
	p := &packages{lock: lock, missing: map[string]bool{}}
	if p.text, err = os.ReadFile(lock.Path); err != nil {
		return nil, err
	}
	if p.tree, err = lock.Open(o.Cache); err != nil {
		return nil, err
	}
	p.names = renamed(b.AbsWorkingDir, p.tree.Dir, lock.Root)
	p.sources = renamed(filepath.Dir(b.Outfile), p.tree.Dir, lock.Root)
	// Packages find each other as they are laid out, and the plugin finds them here.
	b.NodePaths = []string{filepath.Join(p.tree.Dir, "node_modules")}
	b.Plugins = append(b.Plugins, api.Plugin{Name: "packages", Setup: p.setup})
	return p, nil
}

// renamed replaces one folder by another, both relative to a third.
func renamed(base, from, to string) *strings.Replacer {
	name := func(dir string) string {
		if r, err := filepath.Rel(base, dir); err == nil {
			dir = r
		}
		return strings.TrimPrefix(filepath.ToSlash(dir)+"/", "./")
	}
	return strings.NewReplacer(name(from), name(to))
}

func (p *packages) close() {
	if p != nil {
		p.tree.Close()
	}
}

// setup records missing packages.
func (p *packages) setup(b api.PluginBuild) {
	b.OnResolve(api.OnResolveOptions{Filter: `^[^./]`}, func(a api.OnResolveArgs) (r api.OnResolveResult, err error) {
		if a.Namespace == modulesNamespace || a.Kind == api.ResolveEntryPoint {
			return r, nil
		}
		dir, packaged := below(p.tree.Dir, a.ResolveDir)
		if !packaged {
			var inside bool
			if dir, inside = below(p.lock.Root, a.ResolveDir); !inside {
				dir = "."
			}
		}
		key := p.lock.Lookup(dir, a.Path)
		if key == "" || p.tree.Has(key) {
			return r, nil
		}
		if !packaged && !strings.HasPrefix(key, "node_modules/") {
			return r, fmt.Errorf("%q has a version of its own in a folder of the project, %q; run \"npm ci\": packages are then taken from node_modules", a.Path, key)
		}
		p.mu.Lock()
		defer p.mu.Unlock()
		p.missing[key] = true
		r.External = true
		return r, nil
	})
}

// below returns the slash-separated path of a folder relative to a parent; the boolean is false if
// it is not inside.
func below(parent, dir string) (string, bool) {
	r, err := filepath.Rel(parent, dir)
	if err != nil || !filepath.IsLocal(r) {
		return "", false
	}
	return filepath.ToSlash(r), true
}

// need returns the missing packages of the last build.
func (p *packages) need() []string {
	if p == nil {
		return nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	keys := slices.Sorted(maps.Keys(p.missing))
	clear(p.missing)
	return keys
}

// changed reports whether the lock file has changed.
func (p *packages) changed() bool {
	if p == nil {
		return false
	}
	text, err := os.ReadFile(p.lock.Path)
	return err != nil || !bytes.Equal(text, p.text)
}

// add adds packages.
func (p *packages) add(ctx context.Context, keys []string) error { return p.tree.Add(ctx, keys) }

// result returns the result of a build, with the names that files of packages have in node_modules.
func (p *packages) result(built api.BuildResult) (*Result, error) {
	r, err := resultOf(built)
	if p == nil {
		return r, err
	}
	if err != nil {
		return nil, errors.New(p.names.Replace(err.Error()))
	}
	for i, w := range r.Warnings {
		r.Warnings[i] = p.names.Replace(w)
	}
	code, encoded, found := strings.Cut(string(r.Script), mapPrefix)
	code = p.names.Replace(code)
	if found {
		encoded = strings.TrimSuffix(encoded, "\n")
		sourceMap, err := base64.StdEncoding.DecodeString(encoded)
		if err != nil {
			return nil, err
		}
		code += mapPrefix + base64.StdEncoding.EncodeToString([]byte(p.sources.Replace(string(sourceMap)))) + "\n"
	}
	r.Script = []byte(code)
	return r, nil
}

// mapPrefix precedes the source map in a script.
const mapPrefix = "//# sourceMappingURL=data:application/json;base64,"
