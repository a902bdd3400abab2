// SPDX-License-Identifier: Apache-2.0

// Package npm provides the packages of an npm lock file: it downloads, verifies, caches and unpacks
// them. It runs no code of them, does not choose versions, and connects only to hosts in the lock
// file.
package npm

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
)

// A Lock is a lock file.
type Lock struct {
	// Path is the file, Root its folder.
	Path, Root string
	packages   map[string]lockedPackage
}

// A lockedPackage is the lock file's entry for one package.
type lockedPackage struct {
	Version   string
	Resolved  string
	Integrity string
	// Link is true if the package is a folder of the project.
	Link bool
	// InBundle is true if the package is in the archive of its parent package.
	InBundle bool
}

// lockNames are the names of lock files, in the order in which npm looks for them.
var lockNames = []string{"npm-shrinkwrap.json", "package-lock.json"}

// modules is the folder of packages.
const modules = "node_modules"

// maxLock is the maximum size of a lock file.
const maxLock = 64 << 20

// Find returns the lock file of a folder or of the nearest parent. It returns nil if there is none,
// or if packages are installed in one of these folders, which take precedence.
func Find(dir string) (*Lock, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, fmt.Errorf("find a lock file: %w", err)
	}
	for {
		if info, err := os.Stat(filepath.Join(dir, modules)); err == nil && info.IsDir() {
			return nil, nil
		}
		for _, name := range lockNames {
			l, err := read(filepath.Join(dir, name))
			if !errors.Is(err, fs.ErrNotExist) {
				return l, err
			}
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return nil, nil
		}
		dir = parent
	}
}

func read(file string) (*Lock, error) {
	info, err := os.Stat(file)
	if err != nil {
		return nil, fmt.Errorf("read the lock file: %w", err)
	}
	if info.Size() > maxLock {
		return nil, fmt.Errorf("read the lock file %q: it has %d bytes, more than %d", file, info.Size(), maxLock)
	}
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("read the lock file: %w", err)
	}
	l := &Lock{Path: file, Root: filepath.Dir(file)}
	if err := l.parse(data); err != nil {
		return nil, fmt.Errorf("read the lock file %q: %w", file, err)
	}
	return l, nil
}

// An oldDependency is a package in a lock file of version 1.
type oldDependency struct {
	Version, Resolved, Integrity string
	Bundled                      bool
	Dependencies                 map[string]oldDependency
}

func (l *Lock) parse(data []byte) error {
	var file struct {
		LockfileVersion int
		Packages        map[string]lockedPackage
		Dependencies    map[string]oldDependency
	}
	if err := json.Unmarshal(data, &file); err != nil {
		return err
	}
	switch file.LockfileVersion {
	case 1:
		l.packages = map[string]lockedPackage{}
		l.addOld("", file.Dependencies)
	case 2, 3:
		l.packages = file.Packages
	default:
		return fmt.Errorf("its lockfileVersion is %d, not 1, 2 or 3", file.LockfileVersion)
	}
	// Keys become paths below a folder.
	for key := range l.packages {
		if key != "" && (!filepath.IsLocal(filepath.FromSlash(key)) || path.Clean(key) != key) {
			// A folder outside of the project is the target of a link, and never unpacked.
			delete(l.packages, key)
		}
	}
	return nil
}

func (l *Lock) addOld(parent string, list map[string]oldDependency) {
	for name, d := range list {
		key := path.Join(parent, modules, name)
		l.packages[key] = lockedPackage{Version: d.Version, Resolved: d.Resolved, Integrity: d.Integrity, InBundle: d.Bundled}
		l.addOld(key, d.Dependencies)
	}
}

// Lookup returns the key of the package for an import in a folder, a slash-separated path relative
// to that of the lock file. It returns "" if the lock file has no such package, or the import names
// none.
func (l *Lock) Lookup(dir, specifier string) string {
	name := packageName(specifier)
	if name == "" {
		return ""
	}
	for {
		if path.Base(dir) != modules {
			key := path.Join(dir, modules, name)
			if _, ok := l.packages[key]; ok {
				return l.archive(key)
			}
		}
		if dir == "." || dir == "/" || dir == "" {
			return ""
		}
		dir = path.Dir(dir)
	}
}

// archive returns the key of the package whose archive contains a package.
func (l *Lock) archive(key string) string {
	for l.packages[key].InBundle {
		i := strings.LastIndex(key, "/"+modules+"/")
		if i < 0 {
			break
		}
		key = key[:i]
	}
	return key
}

// packageName returns the package of an import: "@a/b" of "@a/b/c.js".
func packageName(specifier string) string {
	if specifier == "" || strings.HasPrefix(specifier, ".") || strings.HasPrefix(specifier, "/") || strings.HasPrefix(specifier, "#") || strings.ContainsAny(specifier, ":\\") {
		return ""
	}
	parts := strings.SplitN(specifier, "/", 3)
	if !strings.HasPrefix(specifier, "@") {
		return parts[0]
	}
	if len(parts) < 2 {
		return ""
	}
	return parts[0] + "/" + parts[1]
}

// nameOf returns the name of the package at a key.
func nameOf(key string) string {
	if i := strings.LastIndex("/"+key, "/"+modules+"/"); i >= 0 {
		return key[i+len(modules)+1:]
	}
	return key
}
