// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"bytes"
	"context"
	"crypto/sha1"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"unicode"

	"example.org/app/internal/apierr"
)

// An Upload is a plugin that an administrator adds.
type Upload struct {
	Language Language
	// Name is the name of its file. If it is empty, it is made of the content.
	Name string
	Data []byte
	// Save keeps it in the folder.
	Save bool
	// Replace lets it take the place of a plugin with the same id.
	Replace bool
}

// Added is what became of an upload.
type Added struct {
	*Plugin
	// Replaced says that it took the place of another version.
	Replaced bool
}

// maxFileName bounds the name of a file, without prefix and suffix.
const maxFileName = 200

// stem is the name of the file without the suffix of its language.
func (u Upload) stem() (name string, given bool, err error) {
	if u.Name == "" {
		sum := sha1.Sum(u.Data) // Existing files are named like that.
		return hex.EncodeToString(sum[:]), false, nil
	}
	name = strings.TrimSuffix(u.Name, suffixOf(u.Language))
	wrong := name == "" || len(name) > maxFileName || strings.HasPrefix(name, ".") ||
		strings.ContainsFunc(name, func(r rune) bool {
			return r == '/' || r == '\\' || r == unicode.ReplacementChar || unicode.IsControl(r)
		})
	if wrong {
		return "", false, apierr.New(apierr.IllegalArgument, "%q cannot be the name of a file: it must have 1 to %d bytes without slashes and control characters, and not begin with a dot", u.Name, maxFileName)
	}
	return name, true, nil
}

func suffixOf(l Language) string {
	for suffix, language := range suffixes {
		if language == l {
			return suffix
		}
	}
	return ""
}

// source is the upload as hosts see it.
func (u Upload) source() (Source, error) {
	name, _, err := u.stem()
	if len(bytes.TrimSpace(u.Data)) == 0 {
		err = apierr.New(apierr.IllegalArgument, "the plugin is empty")
	}
	return Source{Name: name + suffixOf(u.Language), Data: u.Data}, err
}

// Check says what Add would do, and does nothing. The plugin is there even with an error if it is sound by itself.
func (f *Folder) Check(ctx context.Context, u Upload) (Added, error) {
	src, err := u.source()
	if err != nil {
		return Added{}, err
	}
	p, err := f.manager.Check(ctx, u.Language, src, u.Replace)
	if p == nil {
		return Added{}, err
	}
	old, loaded := f.manager.Find(p.ID)
	if err == nil && u.Save {
		_, err = f.target(u, old)
	}
	return Added{Plugin: p, Replaced: loaded && u.Replace && err == nil}, err
}

// Add loads a plugin, which is not started by that, and saves it if that is wanted, when it was accepted. Whatever
// fails, nothing of it is left. Errors are *apierr.Error.
func (f *Folder) Add(ctx context.Context, u Upload) (Added, error) {
	src, err := u.source()
	if err != nil {
		return Added{}, err
	}
	replaced := false
	p, err := f.manager.install(ctx, u.Language, src, u.Replace, func(p, old *Plugin) error {
		replaced = old != nil
		if !u.Save {
			return nil
		}
		file, err := f.target(u, old)
		if err != nil {
			return err
		}
		f.see(filepath.Base(file.path), u.Data) // Before a watch sees the file.
		if err := file.write(u.Data); err != nil {
			return apierr.Wrap(apierr.ServerInternalError, fmt.Errorf("save plugin %q: %w", p.ID, err))
		}
		p.Path = file.path
		return nil
	})
	if err != nil {
		return Added{}, err
	}
	return Added{Plugin: p, Replaced: replaced}, nil
}

// target is a file that a plugin is saved to.
type target struct {
	path string
	// overwrite says that the file may exist and is replaced.
	overwrite bool
}

// target decides where an upload is saved: in the file of the plugin that it replaces, or else in one of its own, which
// must not exist unless its name says that it has the same content.
func (f *Folder) target(u Upload, old *Plugin) (target, error) {
	if u.Replace && old != nil && filepath.Dir(old.Path) == f.dir {
		return target{old.Path, true}, nil
	}
	name, given, err := u.stem()
	if err != nil {
		return target{}, err
	}
	path := filepath.Join(f.dir, networkPrefix+name+suffixOf(u.Language))
	if _, err := os.Lstat(path); err == nil && given {
		return target{}, existing(path)
	} else if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return target{}, apierr.Wrap(apierr.ServerInternalError, fmt.Errorf("save a plugin: %w", err))
	}
	return target{path, !given}, nil
}

func existing(path string) error {
	return apierr.New(apierr.IllegalArgument, "the file %q exists already", filepath.Base(path))
}

// write writes the file as a whole or not at all.
func (t target) write(data []byte) error {
	if t.overwrite {
		return writeFile(t.path, data)
	}
	temporary := t.path + ".new"
	if err := writeFile(temporary, data); err != nil {
		return err
	}
	err := os.Link(temporary, t.path) // Unlike a renaming it replaces nothing.
	if errors.Is(err, fs.ErrExist) {
		err = existing(t.path)
	}
	return errors.Join(err, os.Remove(temporary))
}

// Delete removes a plugin, and its file if that is wanted.
func (f *Folder) Delete(ctx context.Context, id string, file bool) error {
	p, err := f.manager.Remove(ctx, id)
	if err != nil || !file || p.Path == "" {
		return err
	}
	if err := os.Remove(p.Path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return &apierr.Error{
			Code: apierr.ServerInternalError, Err: fmt.Errorf("delete the file of plugin %q: %w", id, err),
			Reason: fmt.Sprintf("plugin %q was removed, but its file %q could not be deleted", id, filepath.Base(p.Path)),
		}
	}
	return nil
}
