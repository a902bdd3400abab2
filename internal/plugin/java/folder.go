// SPDX-License-Identifier: Apache-2.0

package java

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"

	"github.com/gofrs/flock"
)

// folderPattern names the folders in which hosts keep copies of jars.
const folderPattern = "app-java-"

// A folder has what the JVM reads: the host's jar and a copy of each plugin, because files of operators change while
// they are used. It is locked as long as its process lives, so that others know which ones were left behind.
type folder struct {
	path string
	lock *flock.Flock
}

// openFolder makes a folder in a parent, and removes those that servers left there which were killed.
func openFolder(parent string) (_ *folder, err error) {
	removeLeft(parent)
	for range 3 { // Another server that starts at this moment may take a new folder for one that was left.
		var path string
		if path, err = os.MkdirTemp(parent, folderPattern); err != nil {
			break
		}
		f := &folder{path: path}
		if f.lock, err = lockFolder(path); err == nil {
			return f, nil
		}
		os.RemoveAll(path)
	}
	return nil, fmt.Errorf("make a folder for the Java host: %w", err)
}

func lockFolder(path string) (*flock.Flock, error) {
	lock := flock.New(filepath.Join(path, "lock"))
	locked, err := lock.TryLock()
	if err == nil && !locked {
		err = fmt.Errorf("another process uses the folder %q", path)
	}
	return lock, err
}

// removeLeft removes the folders that nobody holds.
func removeLeft(parent string) {
	found, _ := filepath.Glob(filepath.Join(parent, folderPattern+"*"))
	for _, path := range found {
		// One without a lock is being made at this moment.
		if _, err := os.Stat(filepath.Join(path, "lock")); err != nil {
			continue
		}
		if lock, err := lockFolder(path); err == nil {
			os.RemoveAll(path)
			lock.Close()
		}
	}
}

// write puts a file into the folder.
func (f *folder) write(name string, data []byte) (path string, err error) {
	path = filepath.Join(f.path, name)
	if err := os.WriteFile(path, data, 0o600); err != nil {
		os.Remove(path)
		return "", fmt.Errorf("copy a jar for the Java host: %w", err)
	}
	return path, nil
}

func (f *folder) remove() error {
	err := os.RemoveAll(f.path)
	f.lock.Close()
	return err
}

// makeFolder makes the folder with the host's jar, unless it is there, and returns both.
func (h *Host) makeFolder(jar []byte) (dir, path string, err error) {
	h.folderMu.Lock()
	defer h.folderMu.Unlock()
	if h.folder != nil {
		return h.folder.path, h.jar, nil
	}
	if h.folder, err = openFolder(h.opts.Folder); err != nil {
		return "", "", err
	}
	if h.jar, err = h.folder.write(HostJar, jar); err != nil {
		err = errors.Join(err, h.folder.remove())
		h.folder = nil
		return "", "", err
	}
	return h.folder.path, h.jar, nil
}

// removeFolder removes the folder if no JVM uses it.
func (h *Host) removeFolder() {
	h.folderMu.Lock()
	defer h.folderMu.Unlock()
	h.mu.Lock()
	used := slices.ContainsFunc(h.slots, func(l *slot) bool { return l.needed() || l.current != nil }) || h.spare.starting != nil || h.spare.session != nil
	h.mu.Unlock()
	if h.folder == nil || used {
		return
	}
	if err := h.folder.remove(); err != nil {
		h.opts.Log.Warn("the folder of the Java host could not be removed", slog.Any("error", err))
	}
	h.folder = nil
}

// keep copies a jar to where JVMs read it.
func (h *Host) keep(data []byte) (path string, err error) {
	h.folderMu.Lock()
	defer h.folderMu.Unlock()
	h.copies++
	return h.folder.write(fmt.Sprintf("plugin-%d.jar", h.copies), data)
}
