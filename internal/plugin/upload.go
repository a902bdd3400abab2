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
	"slices"
	"strings"
	"unicode"

	"example.org/app/internal/apierr"
)

// An Upload is a plugin that an administrator adds.
type Upload struct {
	Language Language
	// Name is the name of its file. If empty, it is derived from the content.
	Name string
	Data []byte
	// Save stores it in the folder.
	Save bool
	// Replace allows it to replace a plugin with the same id.
	Replace bool
}

// Added is the result of an upload.
type Added struct {
	*Plugin
	// Replaced is true if it replaced another version.
	Replaced bool
	// Waits is true if it will replace it once it and those uploaded with it have their grants.
	Waits bool
}

// maxFileName is the maximum length of a file name, without prefix and suffix.
const maxFileName = 200

// stem returns the name of the file without the suffix of its language.
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

// Source returns the upload as a Source.
func (u Upload) Source() (Source, error) {
	name, _, err := u.stem()
	if len(bytes.TrimSpace(u.Data)) == 0 {
		err = apierr.New(apierr.IllegalArgument, "the plugin is empty")
	}
	return Source{Name: name + suffixOf(u.Language), Data: u.Data}, err
}

// Check returns the results that AddAll would have, without any change. Valid plugins are returned
// even with errors. Results and errors have the positions of the uploads.
func (f *Folder) Check(ctx context.Context, uploads ...Upload) ([]Added, []error) {
	results, errs := make([]Added, len(uploads)), make([]error, len(uploads))
	for i, u := range uploads {
		results[i], errs[i] = f.check(ctx, u)
		for _, other := range results[:i] {
			if errs[i] == nil && other.Plugin != nil {
				errs[i] = results[i].getsAlong(other.Plugin)
			}
		}
		results[i].Replaced = results[i].Replaced && errs[i] == nil
	}
	return results, errs
}

func (f *Folder) check(ctx context.Context, u Upload) (Added, error) {
	src, err := u.Source()
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
	waits := loaded && u.Replace && p.waitsBehind(old)
	return Added{Plugin: p, Replaced: loaded && u.Replace && !waits, Waits: waits}, err
}

// Add adds one plugin like AddAll.
func (f *Folder) Add(ctx context.Context, u Upload) (Added, error) {
	added, errs := f.AddAll(ctx, u)
	if errs != nil {
		return Added{}, errs[0]
	}
	return added[0], nil
}

// AddAll loads plugins of one language without starting them, and saves them if requested, once all
// were accepted. New versions without their grants wait, with all uploaded with them, and the
// former ones continue. On any failure nothing is left of them. Errors are *apierr.Error and have
// the positions of the uploads; nil if all were added.
func (f *Folder) AddAll(ctx context.Context, uploads ...Upload) ([]Added, []error) {
	sources, errs := make([]Source, len(uploads)), make([]error, len(uploads))
	failed := false
	for i, u := range uploads {
		sources[i], errs[i] = u.Source()
		failed = failed || errs[i] != nil
	}
	switch {
	case len(uploads) == 0:
		return nil, nil
	case failed:
		// Report the problems of the others as well.
		for i, u := range uploads {
			if errs[i] == nil {
				_, errs[i] = f.check(ctx, u)
			}
		}
		return nil, errs
	}
	first := uploads[0]
	list, errs := f.manager.installAll(ctx, sources, first.Language, first.Replace, func(list []candidate) (int, error) {
		if !first.Save {
			return 0, nil
		}
		return f.save(uploads, list)
	})
	if onlyWaits(errs) {
		return f.postpone(ctx, uploads, list), nil
	}
	if errs != nil {
		for i, err := range errs {
			if err != nil {
				f.manager.opts.Logger.WarnContext(ctx, "an upload of a plugin is refused", "file", sources[i].Name, "reason", apierr.From(err).Reason)
			}
		}
		return nil, errs
	}
	added := make([]Added, len(list))
	for i, c := range list {
		added[i] = Added{Plugin: c.plugin, Replaced: c.old != nil}
	}
	return added, nil
}

// postpone makes uploads wait for grants.
func (f *Folder) postpone(ctx context.Context, uploads []Upload, list []candidate) []Added {
	added, plugins := make([]Added, len(list)), make([]*Plugin, len(list))
	for i, c := range list {
		added[i], plugins[i] = Added{Plugin: c.plugin, Waits: true}, c.plugin
	}
	behalf := SameBehalf(f.manager.ctx, ctx)
	f.manager.Waiting.postpone(plugins, func() {
		_, errs := f.AddAll(behalf, uploads...)
		for i, err := range errs {
			if err != nil {
				src, _ := uploads[i].Source() // It was accepted before.
				f.manager.Rejections.add(src, err)
			}
		}
	})
	return added
}

// save writes the files of uploads, all or none. Its error belongs to the upload at the returned
// position.
func (f *Folder) save(uploads []Upload, list []candidate) (at int, err error) {
	var undo []func() error
	defer func() {
		if err == nil {
			return
		}
		for _, step := range slices.Backward(undo) {
			err = errors.Join(err, step())
		}
	}()
	paths := make([]string, len(list))
	for i, c := range list {
		file, err := f.target(uploads[i], c.old)
		if err != nil {
			return i, err
		}
		back, err := file.undo()
		if err == nil {
			f.see(filepath.Base(file.path), uploads[i].Data) // Before a watch sees the file.
			err = file.write(uploads[i].Data)
		}
		if err != nil {
			if _, told := errors.AsType[*apierr.Error](err); told {
				return i, err
			}
			return i, apierr.Wrap(apierr.ServerInternalError, fmt.Errorf("save plugin %q: %w", c.plugin.ID, err))
		}
		undo = append(undo, back)
		paths[i] = file.path
	}
	for i, c := range list {
		c.plugin.Path = paths[i]
	}
	return 0, nil
}

// undo returns a function that restores the file's current content.
func (t target) undo() (func() error, error) {
	before, err := os.ReadFile(t.path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return func() error { return os.Remove(t.path) }, nil
	case err != nil:
		return nil, err
	}
	return func() error { return writeFile(t.path, before) }, nil
}

// target is a file that a plugin is saved to.
type target struct {
	path string
	// overwrite is true if the file may exist and is replaced.
	overwrite bool
}

// target returns where to save an upload: in the file of the plugin that it replaces, or else in
// its own, which must not exist unless its name is derived from the same content.
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

// write writes the file atomically.
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

// Delete removes a plugin, and its file if requested.
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
