// SPDX-License-Identifier: Apache-2.0

package adapter

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"example.org/app/internal/config"
	"example.org/app/internal/plugin"
	"example.org/app/internal/plugin/java"
)

// A JarReport is the result of checking a plugin in Java.
type JarReport struct {
	*java.Inspection
	// Plugin is the loaded plugin; nil if no suitable Java was found. NoJava is the reason.
	Plugin *plugin.Plugin
	NoJava error
}

// CheckJar analyses a plugin in Java, and loads it as a server does if a suitable Java is
// found, but calls no hook and no method. The error is a sentence for the plugin's author.
func CheckJar(ctx context.Context, o CheckOptions) (*JarReport, error) {
	path, err := filepath.Abs(o.File)
	if err != nil {
		return nil, fmt.Errorf("plugin %q: %w", o.File, err)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read the plugin: %w", err)
	}
	report := &JarReport{}
	if report.Inspection, err = java.Inspect(data); err != nil {
		return nil, fmt.Errorf("%s: %w", filepath.Base(path), err)
	}
	c := o.Config.Plugin.Java
	if _, report.NoJava = java.Find(ctx, c.Home); report.NoJava != nil {
		return report, nil
	}
	server, opts := o.server()
	host, err := java.New(java.Options{
		Home: c.Home, ClassCache: c.ClassCacheDir, MaxHeap: c.MaxHeap, Flags: strings.Fields(c.JVMOptions), Strict: c.DuplicateClassLoadStrategy == config.DuplicateClassThrowException, Server: server, Log: o.Logger,
	})
	if err != nil {
		return nil, err
	}
	report.Plugin, err = check(ctx, opts, host, plugin.Source{Name: filepath.Base(path), Path: path, Data: data})
	return report, err
}
