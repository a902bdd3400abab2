// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"

	sdk "example.org/app/sdk/js"
)

type pluginUpgradeCommand struct {
	Dir string `arg:"" default:"." help:"The folder of the plugin (default: the current one)."`
}

// Help implements kong.HelpProvider.
func (pluginUpgradeCommand) Help() string {
	return `Renews what "app plugin new" put into a project of the API of plugins, so that it is that of this program: the types of a plugin in
JavaScript or TypeScript, and the jars in repo/ and their version in pom.xml or gradle.properties of one in Java or Kotlin. The sources of
the plugin stay as they are; compile and test them afterwards.

Examples:
  app plugin upgrade
  app plugin upgrade word-filter`
}

// Run implements the command.
func (c pluginUpgradeCommand) Run() error {
	for _, p := range apiVersions {
		text, err := os.ReadFile(filepath.Join(c.Dir, p.file))
		switch {
		case err == nil:
			return upgradeJava(c.Dir, p, text)
		case !errors.Is(err, fs.ErrNotExist):
			return fmt.Errorf("upgrade the plugin: %w", err)
		}
	}
	types := filepath.Join(c.Dir, "types")
	if _, err := os.Stat(filepath.Join(types, "index.d.ts")); err != nil {
		return fmt.Errorf("upgrade %q: it is not the folder of a plugin, which has types/index.d.ts, a pom.xml or a gradle.properties", c.Dir)
	}
	return upgradeTypes(types)
}

// upgradeTypes renews the types of a project in JavaScript or TypeScript.
func upgradeTypes(dir string) error {
	names, err := fs.Glob(sdk.Types, "*.d.ts")
	if err != nil {
		return err
	}
	changed := 0
	for _, name := range names {
		data, err := sdk.Types.ReadFile(name)
		if err != nil {
			return err
		}
		path := filepath.Join(dir, name)
		if old, err := os.ReadFile(path); err == nil && bytes.Equal(old, data) {
			continue
		}
		if err := replaceFile(path, data); err != nil {
			return err
		}
		changed++
	}
	if changed == 0 {
		fmt.Printf("%s is up to date\n", dir)
		return nil
	}
	fmt.Printf("%s: %d of %d files renewed. Check the plugin with: app plugin check\n", dir, changed, len(names))
	return nil
}

// An apiVersion is where a project says which version of the API it uses.
type apiVersion struct {
	by       buildTool
	file     string
	property string
	value    *regexp.Regexp
}

var apiVersions = []apiVersion{
	{byMaven, "pom.xml", "app.version", regexp.MustCompile(`(<app\.version>\s*)([^<]*?)(\s*</app\.version>)`)},
	{byGradle, gradleProperties, "appVersion", regexp.MustCompile(`(?m)(^[ \t]*appVersion[ \t]*[=:][ \t]*)(\S*)([ \t\r]*$)`)},
}

// upgradeJava renews the jars of a project, whose file with the version has text. The project uses the old ones until the new
// ones are there.
func upgradeJava(dir string, p apiVersion, text []byte) error {
	found := p.value.FindSubmatch(text)
	if found == nil {
		return fmt.Errorf("upgrade %q: its %s has no property %s, which says which version of the API it uses", dir, p.file, p.property)
	}
	version, err := writeJavaAPI(dir)
	if err != nil {
		return err
	}
	before := string(found[2])
	if before != version {
		changed := p.value.ReplaceAll(text, []byte("${1}"+version+"${3}"))
		if err := replaceFile(filepath.Join(dir, p.file), changed); err != nil {
			return err
		}
	}
	for _, a := range javaArtifacts {
		versions, err := os.ReadDir(filepath.Join(dir, repository, a.name))
		if err != nil {
			return fmt.Errorf("remove old jars: %w", err)
		}
		for _, v := range versions {
			if v.IsDir() && v.Name() != version {
				if err := os.RemoveAll(filepath.Join(dir, repository, a.name, v.Name())); err != nil {
					return fmt.Errorf("remove old jars: %w", err)
				}
			}
		}
	}
	if before == version {
		fmt.Printf("%s is up to date\n", dir)
		return nil
	}
	fmt.Printf("%[1]s uses version %[2]s of the API now, before it was %[3]s. Next:\n\n  %[4]s\n", dir, version, before, fmt.Sprintf(p.by.command, dir))
	return nil
}
