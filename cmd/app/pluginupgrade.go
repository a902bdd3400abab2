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
JavaScript or TypeScript, and the jars in repo/ and their version in pom.xml of one in Java or Kotlin. The sources of the plugin stay as they
are; compile and test them afterwards.

Examples:
  app plugin upgrade
  app plugin upgrade word-filter`
}

// Run implements the command.
func (c pluginUpgradeCommand) Run() error {
	pom, err := os.ReadFile(filepath.Join(c.Dir, "pom.xml"))
	switch {
	case err == nil:
		return upgradeJava(c.Dir, pom)
	case !errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("upgrade the plugin: %w", err)
	}
	types := filepath.Join(c.Dir, "types")
	if _, err := os.Stat(filepath.Join(types, "index.d.ts")); err != nil {
		return fmt.Errorf("upgrade %q: it is not the folder of a plugin, which has types/index.d.ts or a pom.xml", c.Dir)
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

// appVersion is where a project says which version of the API it uses.
var appVersion = regexp.MustCompile(`<app\.version>\s*([^<]*?)\s*</app\.version>`)

// upgradeJava renews the jars of a Maven project. The project uses the old ones until the new ones are there.
func upgradeJava(dir string, pom []byte) error {
	found := appVersion.FindSubmatch(pom)
	if found == nil {
		return fmt.Errorf("upgrade %q: its pom.xml has no property app.version, which says which version of the API it uses", dir)
	}
	version, err := writeJavaAPI(dir)
	if err != nil {
		return err
	}
	before := string(found[1])
	if before != version {
		changed := appVersion.ReplaceAllLiteral(pom, []byte("<app.version>"+version+"</app.version>"))
		if err := replaceFile(filepath.Join(dir, "pom.xml"), changed); err != nil {
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
	fmt.Printf("%[1]s uses version %[2]s of the API now, before it was %[3]s. Next:\n\n  mvn -f %[1]s package\n", dir, version, before)
	return nil
}
