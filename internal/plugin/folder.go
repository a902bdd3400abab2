// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/fsnotify/fsnotify"

	"example.org/app/internal/apierr"
)

// networkPrefix begins the names of files in the folder that came over the network.
const networkPrefix = "_network_."

// suffixes are what the names of plugins end in.
var suffixes = map[string]Language{".jar": Java, ".js": JavaScript}

// languageOf goes by the end of a name.
func languageOf(name string) (Language, bool) {
	l, ok := suffixes[filepath.Ext(name)]
	return l, ok
}

// maxFile bounds the size of a plugin.
const maxFile = 256 << 20

// A Folder is where the plugins of an operator lie: files directly in it that end in .js or .jar.
type Folder struct {
	manager *Manager
	dir     string
	logger  *slog.Logger
	// seen has the hash of what was last tried of each file.
	seen map[string][sha256.Size]byte
	// foreign are names that belong to plugins from the network and are loaded by others.
	foreign []string
}

// OpenFolder returns the folder, which is made if there is none.
func OpenFolder(m *Manager, dir string) (*Folder, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, fmt.Errorf("open the folder of plugins: %w", err)
	}
	return &Folder{manager: m, dir: dir, logger: m.opts.Logger, seen: make(map[string][sha256.Size]byte)}, nil
}

// Leave makes the folder pass over files that others load.
func (f *Folder) Leave(names ...string) { f.foreign = append(f.foreign, names...) }

// files lists the plugins in the folder, by name.
func (f *Folder) files() ([]string, error) {
	entries, err := os.ReadDir(f.dir)
	if err != nil {
		return nil, fmt.Errorf("read the folder of plugins: %w", err)
	}
	var names []string
	for _, e := range entries {
		if _, ok := languageOf(e.Name()); ok && !slices.Contains(f.foreign, e.Name()) && isFile(f.dir, e) {
			names = append(names, e.Name())
		}
	}
	return names, nil
}

// isFile follows symbolic links: operators keep releases elsewhere.
func isFile(dir string, e fs.DirEntry) bool {
	if e.Type()&fs.ModeSymlink == 0 {
		return e.Type().IsRegular()
	}
	info, err := os.Stat(filepath.Join(dir, e.Name()))
	return err == nil && info.Mode().IsRegular()
}

// read returns a plugin of the folder.
func (f *Folder) read(name string) (Source, error) {
	path := filepath.Join(f.dir, name)
	src := Source{Name: name, Path: path}
	info, err := os.Stat(path)
	if err != nil {
		return src, err
	}
	if info.Size() > maxFile {
		return src, fmt.Errorf("the file has %d bytes, at most %d are allowed", info.Size(), maxFile)
	}
	src.Data, err = os.ReadFile(path)
	return src, err
}

// Load loads every plugin of the folder. The error joins those of single files, each an *apierr.Error; the rest is
// loaded all the same.
func (f *Folder) Load(ctx context.Context) error {
	names, err := f.files()
	if err != nil {
		return err
	}
	var errs []error
	for _, name := range names {
		src, err := f.read(name)
		if err != nil {
			f.manager.reject(src, apierr.New(apierr.IllegalArgument, "%v", err))
			errs = append(errs, fmt.Errorf("read plugin %q: %w", name, err))
			continue
		}
		f.seen[name] = sha256.Sum256(src.Data)
		l, _ := languageOf(name)
		if _, err := f.manager.Load(ctx, l, src); err != nil {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// settle is how long the folder must be quiet before it is read, because files are seldom written at once.
const settle = 200 * time.Millisecond

// Watch follows changes of the folder until the context ends: new plugins are loaded and started, changed ones
// replaced, and those whose file is gone removed.
func (f *Folder) Watch(ctx context.Context) error {
	w, err := fsnotify.NewWatcher()
	if err != nil {
		return fmt.Errorf("watch the folder of plugins: %w", err)
	}
	defer w.Close()
	if err := w.Add(f.dir); err != nil {
		return fmt.Errorf("watch the folder of plugins: %w", err)
	}
	quiet := time.NewTimer(0) // What changed before the watch began counts as well.
	defer quiet.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case e := <-w.Events:
			if _, ok := languageOf(e.Name); ok {
				quiet.Reset(settle)
			}
		case err := <-w.Errors:
			f.logger.Warn("the folder of plugins could not be watched for a moment", "error", err)
			quiet.Reset(settle)
		case <-quiet.C:
			f.sync(ctx)
		}
	}
}

// sync brings the plugins in line with the files.
func (f *Folder) sync(ctx context.Context) {
	names, err := f.files()
	if err != nil {
		f.logger.Warn("the folder of plugins cannot be read", "error", err)
		return
	}
	for name := range f.seen {
		if !slices.Contains(names, name) {
			delete(f.seen, name)
			f.removed(ctx, name)
		}
	}
	for _, name := range names {
		src, err := f.read(name)
		if err != nil {
			if !errors.Is(err, fs.ErrNotExist) {
				f.manager.reject(src, apierr.New(apierr.IllegalArgument, "%v", err))
			}
			continue
		}
		sum := sha256.Sum256(src.Data)
		if before, known := f.seen[name]; known && bytes.Equal(before[:], sum[:]) {
			continue
		}
		f.seen[name] = sum
		f.changed(ctx, src)
	}
}

// removed forgets the plugin of a file that is gone.
func (f *Folder) removed(ctx context.Context, name string) {
	path := filepath.Join(f.dir, name)
	f.manager.forgive(Source{Name: name, Path: path})
	for _, p := range f.manager.Plugins() {
		if p.Path == path {
			if _, err := f.manager.Remove(ctx, p.ID); err != nil {
				f.logger.Warn("a plugin could not be removed", "plugin", p.ID, "error", err)
			}
		}
	}
}

// changed loads a file that is new or has changed. A plugin that had another id before goes away.
func (f *Folder) changed(ctx context.Context, src Source) {
	l, _ := languageOf(src.Name)
	before := slices.DeleteFunc(f.manager.Plugins(), func(p *Plugin) bool { return p.Path != src.Path })
	p, err := f.manager.Replace(ctx, l, src)
	if err != nil {
		return // The manager told, and the old version goes on.
	}
	isNew := true
	for _, old := range before {
		if old.ID == p.ID {
			isNew = false
		} else {
			if _, err := f.manager.Remove(ctx, old.ID); err != nil {
				f.logger.Warn("a plugin could not be removed", "plugin", old.ID, "error", err)
			}
		}
	}
	if isNew {
		f.manager.Do(ctx, p, Start)
	}
}

// Save writes a plugin into the folder. The name gets the prefix of plugins from the network.
func (f *Folder) Save(name string, data []byte, mayExist bool) (path string, err error) {
	if name != filepath.Base(name) || strings.HasPrefix(name, ".") || strings.ContainsAny(name, `/\`+"\x00") {
		return "", apierr.New(apierr.IllegalArgument, "%q cannot be the name of a file", name)
	}
	path = filepath.Join(f.dir, networkPrefix+name)
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if errors.Is(err, fs.ErrExist) {
		if mayExist {
			return path, nil
		}
		return "", apierr.New(apierr.IllegalArgument, "the file %q exists already", filepath.Base(path))
	}
	if err != nil {
		return "", fmt.Errorf("save a plugin: %w", err)
	}
	_, err = file.Write(data)
	if err = errors.Join(err, file.Sync(), file.Close()); err != nil {
		return "", errors.Join(fmt.Errorf("save a plugin: %w", err), os.Remove(path))
	}
	return path, nil
}
