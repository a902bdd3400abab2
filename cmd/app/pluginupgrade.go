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
	"slices"
	"strings"

	"example.org/app/internal/plugin/java"
	"example.org/app/internal/plugin/java/migrate"
	sdk "example.org/app/sdk/js"
)

type pluginUpgradeCommand struct {
	Dir string `arg:"" default:"." help:"Folder of the plugin (default: the current one)."`
}

// Help implements kong.HelpProvider.
func (pluginUpgradeCommand) Help() string {
	return `Updates the plugin API in a project created by "app plugin new" to that of this program: the types of a plugin in JavaScript or TypeScript, or
the jars in repo/ and their version in pom.xml or gradle.properties of a plugin in Java or Kotlin. In Java, Kotlin, Scala and Groovy
sources, the names of API classes that have moved are changed; nothing else of the sources is. Compile and test them afterwards.

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

// upgradeTypes updates the types of a project in JavaScript or TypeScript.
func upgradeTypes(dir string) error {
	names, err := fs.Glob(sdk.Types, "*.d.ts")
	if err != nil {
		return err
	}
	var edits []fileEdit
	for _, name := range names {
		data, err := sdk.Types.ReadFile(name)
		if err != nil {
			return err
		}
		path := filepath.Join(dir, name)
		old, err := os.ReadFile(path)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		if err != nil || !bytes.Equal(old, data) {
			edits = append(edits, fileEdit{path, old, data})
		}
	}
	if len(edits) == 0 {
		fmt.Printf("%s is up to date\n", dir)
		return nil
	}
	if err := applyAll(edits); err != nil {
		return fmt.Errorf("upgrade %q: %w", dir, err)
	}
	fmt.Printf("%s: %d of %d files updated. Check the plugin with: app plugin check\n", dir, len(edits), len(names))
	return nil
}

// An apiVersion is the place in a project that names the version of the API.
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

// upgradeJava updates the jars of a project and its sources. text is the content of the file with
// the version. If the sources cannot be changed, the project keeps using the old jars, which are
// removed at the end.
func upgradeJava(dir string, p apiVersion, text []byte) error {
	found := p.value.FindSubmatch(text)
	if found == nil {
		return fmt.Errorf("upgrade %q: its %s has no property %s with the version of the plugin API", dir, p.file, p.property)
	}
	moved, err := migratedSources(dir)
	if err != nil {
		return err
	}
	version, err := writeJavaAPI(dir)
	if err != nil {
		return err
	}
	before := string(found[2])
	edits := moved
	if before != version {
		edits = append(edits, fileEdit{filepath.Join(dir, p.file), text, p.value.ReplaceAll(text, []byte("${1}"+version+"${3}"))})
	}
	if err := applyAll(edits); err != nil {
		return fmt.Errorf("upgrade %q: %w", dir, err)
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
	for _, e := range moved {
		fmt.Printf("%s: names of classes changed\n", e.path)
	}
	if before == version {
		if len(moved) == 0 {
			fmt.Printf("%s is up to date\n", dir)
		}
		return nil
	}
	fmt.Printf("%[1]s now uses version %[2]s of the API, before it was %[3]s. Next:\n\n  %[4]s\n", dir, version, before, fmt.Sprintf(p.by.command, dir))
	return nil
}

// A fileEdit is a new content of a file.
type fileEdit struct {
	path string
	// before is nil if there was no file.
	before, after []byte
}

// undo restores the file.
func (e fileEdit) undo() error {
	if e.before == nil {
		return os.Remove(e.path)
	}
	return replaceFile(e.path, e.before)
}

// applyAll writes all files or, if one cannot be written, none.
func applyAll(edits []fileEdit) error {
	for i, e := range edits {
		if err := replaceFile(e.path, e.after); err != nil {
			for _, e := range edits[:i] {
				err = errors.Join(err, e.undo())
			}
			return err
		}
	}
	return nil
}

// migratedSources returns the edits that name the classes of the API in the sources of a project
// where they are.
func migratedSources(dir string) (edits []fileEdit, err error) {
	jar, err := java.Jar(java.APIJar)
	if err != nil {
		return nil, err
	}
	api, err := migrate.Read(jar)
	if err != nil {
		return nil, err
	}
	err = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir():
			if path != dir && (strings.HasPrefix(d.Name(), ".") || slices.Contains(builtFolders, d.Name())) {
				return fs.SkipDir
			}
			return nil
		case !d.Type().IsRegular() || !migrate.Handles(d.Name()):
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		if now := api.Source(d.Name(), text); !bytes.Equal(now, text) {
			edits = append(edits, fileEdit{path, text, now})
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("read the sources of %q: %w", dir, err)
	}
	return edits, nil
}

// builtFolders are the folders of projects that hold no sources of the plugin.
var builtFolders = []string{"target", "build", "repo", "node_modules"}
