// SPDX-License-Identifier: Apache-2.0

package plugin

import (
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
	"sync"
	"time"

	"github.com/fsnotify/fsnotify"

	"example.org/app/internal/apierr"
)

// networkPrefix is the prefix of files in the folder that were downloaded.
const networkPrefix = "_network_."

// suffixes maps file suffixes to languages.
var suffixes = map[string]Language{".jar": Java, ".js": JavaScript}

// languageOf returns the language for the suffix of a name.
func languageOf(name string) (Language, bool) {
	l, ok := suffixes[filepath.Ext(name)]
	return l, ok
}

// testSuffix is the suffix of plugin tests, which are beside the plugins and are not loaded.
const testSuffix = ".test.js"

// maxFile is the maximum size of a plugin.
const maxFile = 256 << 20

// A Folder is the operator's folder of plugins: files directly in it that end in .js or .jar,
// except tests.
type Folder struct {
	manager *Manager
	dir     string
	logger  *slog.Logger
	// foreign are names of downloaded plugins, which are loaded elsewhere.
	foreign []string
	// only is the only file to load; "" means all.
	only string

	mu sync.Mutex
	// seen maps files to the hash of the content last tried.
	seen map[string][sha256.Size]byte
	// loading are the files that are being loaded or started.
	loading []string

	// listed is closed when Load has listed the files: before, all of them would be new to Watch.
	listed   chan struct{}
	listOnce sync.Once
}

// NewFolder returns the folder, which need not exist until something is loaded from it or saved in
// it.
func NewFolder(m *Manager, dir string) *Folder {
	return &Folder{manager: m, dir: dir, logger: m.opts.Logger, seen: make(map[string][sha256.Size]byte), listed: make(chan struct{})}
}

// OpenFolder returns the folder, creating it if necessary.
func OpenFolder(m *Manager, dir string) (*Folder, error) {
	f := NewFolder(m, dir)
	return f, f.Make()
}

// Make creates the folder if necessary.
func (f *Folder) Make() error {
	if err := os.MkdirAll(f.dir, 0o755); err != nil {
		return fmt.Errorf("open the folder of plugins: %w", err)
	}
	return nil
}

// Dir returns the path of the folder.
func (f *Folder) Dir() string { return f.dir }

// see records the content of a file and reports whether it is new.
func (f *Folder) see(name string, data []byte) bool {
	sum := sha256.Sum256(data)
	f.mu.Lock()
	defer f.mu.Unlock()
	before, known := f.seen[name]
	f.seen[name] = sum
	return !known || before != sum
}

// forget removes and returns the recorded files that are not among names.
func (f *Folder) forget(names []string) (gone []string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for name := range f.seen {
		if !slices.Contains(names, name) {
			delete(f.seen, name)
			gone = append(gone, name)
		}
	}
	return gone
}

// noted records the reason if a file was not accepted, and removes an older one if it was. A file
// that is no plugin, such as a library, is skipped.
func (f *Folder) noted(src Source, err error) error {
	if errors.Is(err, ErrNoPlugin) {
		f.logger.Info("a file in the folder of plugins is none and is passed over", "file", src.Name)
		f.manager.Rejections.forget(src)
		return nil
	}
	if err != nil {
		f.manager.Rejections.add(src, err)
	} else {
		f.manager.Rejections.forget(src)
	}
	return err
}

// Leave makes the folder skip files that are loaded elsewhere.
func (f *Folder) Leave(names ...string) { f.foreign = append(f.foreign, names...) }

// Only makes the folder skip all files except one; "" means none are skipped.
func (f *Folder) Only(name string) { f.only = name }

// files lists the plugins in the folder, by name.
func (f *Folder) files() ([]string, error) {
	entries, err := os.ReadDir(f.dir)
	if err != nil {
		return nil, fmt.Errorf("read the folder of plugins: %w", err)
	}
	var names []string
	for _, e := range entries {
		if _, ok := languageOf(e.Name()); ok && !strings.HasSuffix(e.Name(), testSuffix) && !slices.Contains(f.foreign, e.Name()) && (f.only == "" || f.only == e.Name()) && isFile(f.dir, e) {
			names = append(names, e.Name())
		}
	}
	return names, nil
}

// isFile follows symbolic links, because operators keep releases elsewhere.
func isFile(dir string, e fs.DirEntry) bool {
	if e.Type()&fs.ModeSymlink == 0 {
		return e.Type().IsRegular()
	}
	info, err := os.Stat(filepath.Join(dir, e.Name()))
	return err == nil && info.Mode().IsRegular()
}

// read reads a plugin of the folder.
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

// Load loads every plugin of the folder concurrently, and orders them by file name. The error joins
// those of single files, each an *apierr.Error; the other plugins are loaded. If start is true,
// each plugin is started as soon as it is loaded.
func (f *Folder) Load(ctx context.Context, start bool) error {
	defer f.Listed()
	names, err := f.files()
	if err != nil {
		return err
	}
	b := f.newBatch(folderRank, len(names))
	errs := make([]error, len(names))
	var wg sync.WaitGroup
	for i, name := range names {
		src, err := f.read(name)
		if err != nil {
			f.manager.Rejections.add(src, apierr.New(apierr.IllegalArgument, "%v", err))
			errs[i] = fmt.Errorf("read plugin %q: %w", name, err)
			b.done(i)
			continue
		}
		f.see(name, src.Data)
		l, _ := languageOf(name)
		wg.Go(func() {
			errs[i] = f.load(ctx, l, b.place(i, src), start, f.noted, func() { b.done(i) })
		})
	}
	f.Listed()
	wg.Wait()
	return errors.Join(errs...)
}

// Listed tells Watch that the initial files are listed, or will not be loaded.
func (f *Folder) Listed() { f.listOnce.Do(func() { close(f.listed) }) }

// load loads a plugin at the start of the server, and starts it if start is true. note receives the
// result of loading, and placed is called when the place of the plugin is known.
func (f *Folder) load(ctx context.Context, l Language, src Source, start bool, note func(Source, error) error, placed func()) error {
	defer f.begin(src.Name)()
	p, err := f.manager.Load(ctx, l, src)
	placed()
	if err = note(src, err); err != nil || p == nil || !start {
		return err
	}
	return f.manager.Boot(ctx, p)
}

// begin records that a file is being loaded and started, until end is called.
func (f *Folder) begin(name string) (end func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.loading = append(f.loading, name)
	return func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.loading = slices.DeleteFunc(f.loading, func(other string) bool { return other == name })
	}
}

// Loading returns the files that are being loaded or started.
func (f *Folder) Loading() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Sorted(slices.Values(f.loading))
}

// The ranks of the first downloaded plugin and of the first one of the folder.
const (
	networkRank = 1
	folderRank  = 1 << 20
)

// placeTime is how long a loaded plugin waits at most for those before it: of two with the same id
// the first counts. It is part of the time that the server waits for its plugins.
const placeTime = 10 * time.Second

// A batch is a set of plugins that are loaded concurrently and keep their order.
type batch struct {
	rank   int
	wait   time.Duration
	placed []chan struct{}
}

func (f *Folder) newBatch(rank, n int) *batch {
	b := &batch{rank: rank, placed: make([]chan struct{}, n)}
	b.wait = min(placeTime, time.Duration(f.manager.opts.Settings().StartTimeoutMillis)*time.Millisecond/4)
	for i := range b.placed {
		b.placed[i] = make(chan struct{})
	}
	return b
}

// done records that the i-th plugin has its place, or gets none.
func (b *batch) done(i int) { close(b.placed[i]) }

// place sets the place of the i-th plugin.
func (b *batch) place(i int, src Source) Source {
	src.rank = b.rank + i
	src.turn = func(ctx context.Context) {
		timer := time.NewTimer(b.wait)
		defer timer.Stop()
		for _, before := range b.placed[:i] {
			select {
			case <-before:
			case <-timer.C:
				return
			case <-ctx.Done():
				return
			}
		}
	}
	return src
}

// settle is how long the folder must be unchanged before it is read, because files are seldom
// written at once.
const settle = 200 * time.Millisecond

// Watch follows changes of the folder until the context ends: new plugins are loaded and started,
// changed ones replaced, and those without file removed. It begins when the files are listed.
func (f *Folder) Watch(ctx context.Context) error {
	select {
	case <-f.listed:
	case <-ctx.Done():
		return nil
	}
	w, err := fsnotify.NewWatcher()
	if err != nil {
		return fmt.Errorf("watch the folder of plugins: %w", err)
	}
	defer w.Close()
	if err := w.Add(f.dir); err != nil {
		return fmt.Errorf("watch the folder of plugins: %w", err)
	}
	quiet := time.NewTimer(0) // Include changes before the watch began.
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

// sync synchronises the plugins with the files.
func (f *Folder) sync(ctx context.Context) {
	names, err := f.files()
	if err != nil {
		f.logger.Warn("the folder of plugins cannot be read", "error", err)
		return
	}
	for _, name := range f.forget(names) {
		f.removed(ctx, name)
	}
	for _, name := range names {
		src, err := f.read(name)
		if err != nil {
			if !errors.Is(err, fs.ErrNotExist) {
				f.manager.Rejections.add(src, apierr.New(apierr.IllegalArgument, "%v", err))
			}
			continue
		}
		if f.see(name, src.Data) {
			f.changed(ctx, src)
		}
	}
}

// removed removes the plugin of a deleted file.
func (f *Folder) removed(ctx context.Context, name string) {
	path := filepath.Join(f.dir, name)
	f.manager.Rejections.forget(Source{Name: name, Path: path})
	for _, p := range f.manager.Plugins() {
		if p.Path == path {
			if _, err := f.manager.Remove(ctx, p.ID); err != nil {
				f.logger.Warn("a plugin could not be removed", "plugin", p.ID, "error", err)
			}
		}
	}
}

// changed loads a new or changed file. If its id changed, the plugin with the former id is removed.
func (f *Folder) changed(ctx context.Context, src Source) {
	l, _ := languageOf(src.Name)
	before := slices.DeleteFunc(f.manager.Plugins(), func(p *Plugin) bool { return p.Path != src.Path })
	p, err := f.manager.Replace(ctx, l, src)
	if f.noted(src, err) != nil || p == nil {
		if _, waits := errors.AsType[*WaitingError](err); waits {
			f.manager.Waiting.postpone([]*Plugin{p}, func() { f.retry(src.Name) })
		}
		return // The old version continues.
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

// retry loads the current content of a file whose plugin waited for grants.
func (f *Folder) retry(name string) {
	src, err := f.read(name)
	if err != nil {
		return // It is gone, or the watch reports what is wrong with it.
	}
	f.changed(f.manager.ctx, src)
}
