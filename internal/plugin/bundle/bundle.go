// SPDX-License-Identifier: Apache-2.0

// Package bundle builds one script from a plugin in JavaScript that consists of several files, uses
// npm packages, or is written in TypeScript. Types are removed, not checked.
package bundle

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/evanw/esbuild/pkg/api"

	"example.org/app/internal/sleep"
)

// Options configure a build.
type Options struct {
	// Entry is the file that exports the plugin.
	Entry string
	// Output is the path of the script, to which the names in its source map are relative. It is
	// not written.
	Output string
	// Absolute makes the names in the source map absolute, for a script that will be moved.
	Absolute bool
	// Main is the text of a script that replaces Entry, in its folder; "" means none.
	Main string
	// Modules are the texts of modules without file, by import name.
	Modules map[string]string
	// Minify removes what the engine does not need, except names.
	Minify bool
	// Cache is the folder for packages of a lock file; "" means the user's cache folder.
	Cache string
}

// A Result is a script and the warnings about its sources.
type Result struct {
	Script   []byte
	Warnings []string
}

// Build builds the script, with an inline source map. If packages are not installed in
// node_modules, imported ones are downloaded according to npm's lock file.
func Build(o Options) (*Result, error) {
	built, err := o.options()
	if err != nil {
		return nil, err
	}
	p, err := o.packages(built)
	if err != nil {
		return nil, err
	}
	defer p.close()
	for {
		r := api.Build(*built)
		missing := p.need()
		if len(missing) == 0 || len(r.Errors) > 0 {
			return p.result(r)
		}
		if err := p.add(context.Background(), missing); err != nil {
			return nil, err
		}
	}
}

// Watch builds the script now and whenever one of its sources changes, until ctx ends, and calls
// done each time.
func Watch(ctx context.Context, o Options, done func(*Result, error)) error {
	for ctx.Err() == nil {
		if err := o.watch(ctx, done); err != nil {
			return err
		}
	}
	return nil
}

// pollLock is how often the lock file is checked, even if it is unreadable because it is being
// written.
const pollLock = time.Second

// watch returns when ctx ends or when the build must restart because the lock file changed.
func (o Options) watch(ctx context.Context, done func(*Result, error)) error {
	built, err := o.options()
	if err != nil {
		return err
	}
	p, err := o.packages(built)
	if err != nil {
		done(nil, err)
		_ = sleep.For(ctx, pollLock)
		return nil
	}
	defer p.close()
	for ctx.Err() == nil && !p.changed() {
		if err := o.watchWith(ctx, *built, p, done); err != nil {
			return err
		}
	}
	return nil
}

// watchWith returns when ctx ends, packages were added or the lock file changed.
func (o Options) watchWith(ctx context.Context, built api.BuildOptions, p *packages, done func(*Result, error)) error {
	ctx, end := context.WithCancel(ctx)
	defer end()
	built.Plugins = append(slices.Clip(built.Plugins), api.Plugin{Name: "watch", Setup: func(b api.PluginBuild) {
		b.OnEnd(func(r *api.BuildResult) (api.OnEndResult, error) {
			missing := p.need()
			switch {
			case ctx.Err() != nil:
			case p.changed():
				end()
			case len(missing) == 0 || len(r.Errors) > 0:
				done(p.result(*r))
			default:
				if err := p.add(ctx, missing); err == nil {
					end()
				} else if ctx.Err() == nil {
					done(nil, err)
				}
			}
			return api.OnEndResult{}, nil
		})
	}})
	builder, failed := api.Context(built)
	if failed != nil {
		return messages(failed.Errors)
	}
	defer builder.Dispose()
	if err := builder.Watch(api.WatchOptions{}); err != nil {
		return fmt.Errorf("watch %q: %w", o.Entry, err)
	}
	poll := time.NewTicker(pollLock)
	defer poll.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-poll.C:
			if p.changed() {
				return nil
			}
		}
	}
}

// options are those of esbuild.
func (o Options) options() (*api.BuildOptions, error) {
	entry, err := filepath.Abs(o.Entry)
	if err != nil {
		return nil, fmt.Errorf("bundle %q: %w", o.Entry, err)
	}
	if _, err := os.Stat(entry); err != nil {
		return nil, fmt.Errorf("bundle: %w", err)
	}
	output, err := filepath.Abs(o.Output)
	if err != nil {
		return nil, fmt.Errorf("bundle %q: %w", o.Entry, err)
	}
	b := &api.BuildOptions{
		EntryPoints: []string{entry}, Outfile: output, AbsWorkingDir: filepath.Dir(entry),
		Bundle: true, Format: api.FormatESModule, Target: api.ES2022, Charset: api.CharsetUTF8,
		// Plugins have the globals of browser workers, and nothing of Node.js: the browser variants
		// of packages need no document either.
		Platform: api.PlatformBrowser, MainFields: []string{"browser", "module", "main"}, Conditions: []string{"worker", "module"},
		Define:    map[string]string{"process.env.NODE_ENV": `"production"`},
		Sourcemap: api.SourceMapInline, SourcesContent: api.SourcesContentInclude,
		// Extensions are known by the names of their classes.
		KeepNames: o.Minify, MinifyWhitespace: o.Minify, MinifyIdentifiers: o.Minify, MinifySyntax: o.Minify,
		LogLevel: api.LogLevelSilent,
	}
	if o.Absolute {
		b.SourceRoot = (&url.URL{Scheme: "file", Path: filepath.ToSlash(filepath.Dir(output))}).String()
	}
	if o.Main != "" {
		b.EntryPoints = nil
		b.Stdin = &api.StdinOptions{Contents: o.Main, ResolveDir: filepath.Dir(entry), Sourcefile: mainName, Loader: api.LoaderJS}
	}
	if len(o.Modules) > 0 {
		b.Plugins = append(b.Plugins, modules(o.Modules))
	}
	return b, nil
}

// mainName is the name of Main in messages.
const mainName = "(main)"

// modules resolves modules without file.
func modules(texts map[string]string) api.Plugin {
	return api.Plugin{Name: "modules", Setup: func(b api.PluginBuild) {
		b.OnResolve(api.OnResolveOptions{Filter: ".*"}, func(a api.OnResolveArgs) (r api.OnResolveResult, err error) {
			if _, ok := texts[a.Path]; ok {
				r.Path, r.Namespace = a.Path, modulesNamespace
			}
			return r, nil
		})
		b.OnLoad(api.OnLoadOptions{Filter: ".*", Namespace: modulesNamespace}, func(a api.OnLoadArgs) (r api.OnLoadResult, err error) {
			text := texts[a.Path]
			r.Contents, r.Loader = &text, api.LoaderJS
			return r, nil
		})
	}}
}

// modulesNamespace is where modules are that are in no file.
const modulesNamespace = "module"

func resultOf(r api.BuildResult) (*Result, error) {
	if len(r.Errors) > 0 {
		return nil, messages(r.Errors)
	}
	if len(r.OutputFiles) != 1 {
		return nil, fmt.Errorf("bundle: %d files came out of it, not one", len(r.OutputFiles))
	}
	result := &Result{Script: r.OutputFiles[0].Contents}
	for _, m := range r.Warnings {
		result.Warnings = append(result.Warnings, message(m))
	}
	return result, nil
}

// messages joins problems to one error.
func messages(list []api.Message) error {
	var all []error
	for _, m := range list {
		all = append(all, errors.New(message(m)))
	}
	return errors.Join(all...)
}

// message formats a problem with its position and hints.
func message(m api.Message) string {
	var b strings.Builder
	if l := m.Location; l != nil {
		fmt.Fprintf(&b, "%s:%d:%d: ", l.File, l.Line, l.Column+1)
	}
	b.WriteString(m.Text)
	if strings.Contains(m.Text, "Could not resolve") {
		b.WriteString("; packages are looked for in node_modules, or else in package-lock.json, and those of Node.js itself cannot be used in a plugin")
	}
	return b.String()
}
