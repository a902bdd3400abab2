// SPDX-License-Identifier: Apache-2.0

package config

import (
	"path/filepath"
	"slices"
	"strings"

	"example.org/app/internal/config/property"
)

// Options define the sources of a configuration. Each source overrides those before it: the
// defaults, the file, the environment, Set.
type Options struct {
	// Home replaces @HOME and is the base of relative paths. Empty means the working directory.
	Home string
	// File is a YAML file. Empty means config/application.yaml below Home, which need not exist.
	// The file of SaveLatest is read after it.
	File string
	// Environ has the form of os.Environ. Only names that begin with APP_ are
	// properties, except APP_HOME and what begins with APP_TEST_.
	Environ []string
	// Set holds items of the form "app.some.property=value".
	Set []string
}

// The variables that the program itself reads, which are no properties.
const (
	envHome       = "APP_HOME"
	envTestPrefix = "APP_TEST_"
)

// Load reads all sources and validates the result. It returns only the first problem, as a
// *property.Error.
func Load(opts Options) (*Config, error) {
	file := property.File{Path: opts.File}
	if opts.File == "" {
		file = property.File{Path: filepath.Join(opts.Home, "config", "application.yaml"), Optional: true}
	}
	c := &Config{home: opts.Home, resolved: true, foreign: property.NewForeign(rootName, opts.Environ)}
	var err error
	c.sources, err = configTree().Load(c, property.Inputs{
		Home: opts.Home, Files: []property.File{file, {Path: latestFile(opts.Home), Optional: true}},
		Environ: slices.DeleteFunc(slices.Clone(opts.Environ), func(v string) bool {
			name, _, _ := strings.Cut(v, "=")
			return name == envHome || strings.HasPrefix(name, envTestPrefix)
		}),
		Set: opts.Set, Foreign: c.foreign,
	})
	if err != nil {
		return nil, err
	}
	return c, nil
}

// Foreign returns the properties of others, such as plugins, below a prefix such as "my-plugin" or
// "app-plugin.push", as nested maps with camelCase names; see [property.Foreign.Below].
func (c *Config) Foreign(prefix string) (map[string]any, error) {
	if c.foreign == nil {
		return property.NewForeign(rootName, nil).Below(prefix)
	}
	return c.foreign.Below(prefix)
}

// ForeignRoots returns the first words of those properties, without those of the environment.
func (c *Config) ForeignRoots() []string {
	if c.foreign == nil {
		return nil
	}
	return c.foreign.Roots()
}
