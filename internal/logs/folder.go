// SPDX-License-Identifier: Apache-2.0

package logs

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
)

// ErrNotFound means that a path names no regular file inside the log folder.
var ErrNotFound = errors.New("no such log file")

// Folder reads the files of a log folder. Nothing outside the folder can be reached, neither by a
// path nor through a symbolic link. A Folder keeps nothing open between calls, is safe for
// concurrent use and tolerates that the folder appears, disappears or is replaced.
type Folder struct{ dir string }

// OpenFolder returns the folder dir, which need not exist yet.
func OpenFolder(dir string) *Folder { return &Folder{dir} }

// Names returns the names, sorted, of the regular files directly in the folder, including symbolic
// links to regular files inside it. A missing folder has none.
func (f *Folder) Names() ([]string, error) {
	if f.dir == "" {
		return nil, nil
	}
	root, err := os.OpenRoot(f.dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("open log folder %q: %w", f.dir, err)
	}
	defer root.Close()
	names, err := regularNames(root, ".")
	if err != nil {
		return nil, fmt.Errorf("list log folder %q: %w", f.dir, err)
	}
	return names, nil
}

func regularNames(root *os.Root, dir string) ([]string, error) {
	d, err := root.Open(dir)
	if err != nil {
		return nil, err
	}
	defer d.Close()
	entries, err := d.ReadDir(-1)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, entry := range entries {
		regular := entry.Type().IsRegular()
		if entry.Type()&fs.ModeSymlink != 0 {
			info, err := root.Stat(filepath.Join(dir, entry.Name()))
			regular = err == nil && info.Mode().IsRegular()
		}
		if regular {
			names = append(names, entry.Name())
		}
	}
	slices.Sort(names)
	return names, nil
}

// Reader is an opened log file. It ends where the file ended when it was opened, so that its size
// is known while the file grows.
type Reader struct {
	file *os.File
	rest io.LimitedReader
	name string
	size int64
}

// Name returns the last element of the file's path.
func (r *Reader) Name() string { return r.name }

// Size returns the number of bytes that can be read, unless the file is truncated meanwhile.
func (r *Reader) Size() int64 { return r.size }

// Read implements io.Reader.
func (r *Reader) Read(p []byte) (int, error) { return r.rest.Read(p) }

// WriteTo implements io.WriterTo, so that a network connection can use sendfile.
func (r *Reader) WriteTo(w io.Writer) (int64, error) { return io.Copy(w, &r.rest) }

// Close implements io.Closer.
func (r *Reader) Close() error { return r.file.Close() }

// Open opens the file with the given path, which is relative to the folder and may name a file in a
// subfolder. It returns ErrNotFound if the path is absolute, leads outside, or names nothing, a
// folder or a special file.
func (f *Folder) Open(path string) (*Reader, error) {
	file, info, err := f.openRegular(path)
	if err != nil {
		return nil, err
	}
	return &Reader{
		file: file,
		rest: io.LimitedReader{R: file, N: info.Size()},
		name: filepath.Base(filepath.Clean(path)),
		size: info.Size(),
	}, nil
}

// openRegular opens a regular file of the folder; all access to files goes through it.
func (f *Folder) openRegular(path string) (*os.File, fs.FileInfo, error) {
	root, name, err := f.rootOf(path)
	if err != nil {
		return nil, nil, err
	}
	defer root.Close()
	// Stat before opening, because opening a device can have effects, and open without blocking,
	// because a FIFO may have taken the file's place in between.
	info, err := root.Stat(name)
	if err != nil {
		return nil, nil, refuse(path, err)
	}
	if !info.Mode().IsRegular() {
		return nil, nil, refuse(path, nil)
	}
	file, err := root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, nil, refuse(path, err)
	}
	info, err = file.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = refuse(path, nil)
	} else if err != nil {
		err = refuse(path, err)
	}
	if err != nil {
		return nil, nil, errors.Join(err, file.Close())
	}
	return file, info, nil
}

// stat returns the current file info of a path.
func (f *Folder) stat(path string) (fs.FileInfo, error) {
	root, name, err := f.rootOf(path)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	info, err := root.Stat(name)
	if err != nil {
		return nil, refuse(path, err)
	}
	return info, nil
}

// rootOf validates and normalises a path and opens the folder.
func (f *Folder) rootOf(path string) (*os.Root, string, error) {
	name := filepath.Clean(path)
	if f.dir == "" || path == "" || strings.ContainsRune(path, 0) || !filepath.IsLocal(name) {
		return nil, "", refuse(path, nil)
	}
	root, err := os.OpenRoot(f.dir)
	if err != nil {
		return nil, "", refuse(path, err)
	}
	return root, name, nil
}

// refuse converts an error to ErrNotFound, unless the file may exist and the server is at fault.
// The message does not contain the location of the folder.
func refuse(path string, err error) error {
	for _, own := range []error{fs.ErrPermission, syscall.EMFILE, syscall.ENFILE, syscall.EIO, syscall.ENOMEM} {
		if errors.Is(err, own) {
			return fmt.Errorf("open log file %q: %w", path, own)
		}
	}
	return fmt.Errorf("open log file %q: %w", path, ErrNotFound)
}

var (
	_ io.ReadCloser = (*Reader)(nil)
	_ io.WriterTo   = (*Reader)(nil)
)
