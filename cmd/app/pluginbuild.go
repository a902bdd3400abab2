// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"example.org/app/internal/plugin/bundle"
)

type pluginBuildCommand struct {
	File   string `arg:"" help:"Entry file, which exports the plugin: .ts, .js or .mjs."`
	Output string `short:"o" placeholder:"FILE" help:"Script to write (default: dist/NAME.js beside the entry file)."`
	Minify bool   `help:"Minify the script, but keep names."`
}

// Help implements kong.HelpProvider.
func (pluginBuildCommand) Help() string {
	return `Builds one script that a server can load: it removes types and bundles what is imported from other files and from node_modules. Packages that need
Node.js itself cannot be used. Without node_modules, the imported packages are downloaded as package-lock.json specifies, verified against its hashes
and cached in the user's cache folder. The source map is embedded in the script, so that stack traces and debuggers show the sources.
Types are not checked; use npx tsc --project . for that.

Examples:
  app plugin build word-filter.ts
  app plugin build src/main.ts -o plugins/word-filter.js --minify`
}

// Run implements the command.
func (c pluginBuildCommand) Run() error {
	output := c.Output
	if output == "" {
		output = filepath.Join(filepath.Dir(c.File), "dist", scriptName(c.File))
	}
	if same, err := sameFile(c.File, output); err != nil || same {
		return errors.Join(err, fmt.Errorf("build %q: the output would take the place of the source", c.File))
	}
	r, err := bundle.Build(bundle.Options{Entry: c.File, Output: output, Minify: c.Minify})
	if err != nil {
		return err
	}
	warn(r.Warnings)
	if err := os.MkdirAll(filepath.Dir(output), 0o755); err != nil {
		return fmt.Errorf("create the folder of %q: %w", output, err)
	}
	if err := replaceFile(output, r.Script); err != nil {
		return err
	}
	fmt.Printf("%s has %d bytes\n", output, len(r.Script))
	return nil
}

// scriptName returns the name of the script that is built from a file.
func scriptName(file string) string {
	name := filepath.Base(file)
	return strings.TrimSuffix(name, filepath.Ext(name)) + ".js"
}

func sameFile(a, b string) (bool, error) {
	first, err := filepath.Abs(a)
	if err != nil {
		return false, err
	}
	second, err := filepath.Abs(b)
	return first == second, err
}

func warn(warnings []string) {
	for _, w := range warnings {
		fmt.Fprintln(os.Stderr, "WARNING:", w)
	}
}

// replaceFile writes a file atomically, so that a watcher never sees a part of it. An existing file
// keeps its permissions.
func replaceFile(path string, data []byte) error {
	mode := os.FileMode(0o644)
	if info, err := os.Stat(path); err == nil {
		mode = info.Mode().Perm()
	}
	temporary := path + ".tmp"
	err := os.WriteFile(temporary, data, mode)
	if err == nil {
		err = os.Rename(temporary, path)
	}
	if err != nil {
		if info, failed := os.Lstat(temporary); failed == nil && info.Mode().IsRegular() {
			err = errors.Join(err, os.Remove(temporary))
		}
		return fmt.Errorf("write %q: %w", path, err)
	}
	return nil
}

// bundled builds the script of a plugin in a temporary folder, which remove deletes.
func bundled(file string) (remove func(), script string, err error) {
	dir, err := os.MkdirTemp("", "app-plugin-")
	if err != nil {
		return nil, "", fmt.Errorf("create a folder for the script: %w", err)
	}
	remove = func() { _ = os.RemoveAll(dir) }
	r, err := bundle.Build(watched(file))
	if err == nil {
		warn(r.Warnings)
		script = filepath.Join(dir, scriptName(file))
		err = replaceFile(script, r.Script)
	}
	if err != nil {
		remove()
		return nil, "", err
	}
	return remove, script, nil
}

// watched returns the options to bundle a plugin into a script in another folder.
func watched(file string) bundle.Options {
	return bundle.Options{Entry: file, Output: filepath.Join(filepath.Dir(file), scriptName(file)), Absolute: true}
}

// bundleOnSave builds the script of a plugin, and again whenever one of its sources is saved, until
// stop is called. If a build fails, it prints the error and leaves the script unchanged.
func bundleOnSave(file string) (script string, stop func(), err error) {
	remove, script, err := bundled(file)
	if err != nil {
		return "", nil, err
	}
	written, err := os.ReadFile(script)
	if err != nil {
		remove()
		return "", nil, fmt.Errorf("read the script: %w", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		err := bundle.Watch(ctx, watched(file), func(r *bundle.Result, err error) {
			if err == nil && !bytes.Equal(r.Script, written) {
				written = r.Script
				warn(r.Warnings)
				err = replaceFile(script, r.Script)
			}
			if err != nil {
				fmt.Fprintf(os.Stderr, "%s cannot be bundled; the last version keeps running:\n%v\n", file, err)
			}
		})
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
		}
	}()
	return script, func() {
		cancel()
		<-ended
		remove()
	}, nil
}
