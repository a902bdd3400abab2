// SPDX-License-Identifier: Apache-2.0

// Package scratch creates folders for files that are useless after their process. If a process is
// killed, the next one that creates such a folder removes the stale one.
package scratch

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/gofrs/flock"
)

// A Folder is locked as long as its process lives, so that others recognise stale ones.
type Folder struct {
	// Path is the folder's path.
	Path string
	lock *flock.Flock
}

// lockName is the lock file in a folder.
const lockName = "lock"

// Open creates a folder whose name begins with prefix in parent (if empty, the system's folder for
// temporary files), and removes folders with that prefix that killed processes left there.
func Open(parent, prefix string) (_ *Folder, err error) {
	if parent == "" {
		parent = os.TempDir()
	}
	removeStale(parent, prefix)
	for range 100 { // A process that calls Open concurrently may mistake a new folder for a stale one.
		var path string
		if path, err = os.MkdirTemp(parent, prefix); err != nil {
			break
		}
		f := &Folder{Path: path}
		if f.lock, err = lock(path, os.O_CREATE|os.O_RDWR); err == nil {
			return f, nil
		}
		_ = os.RemoveAll(path)
	}
	return nil, fmt.Errorf("make a folder for temporary files: %w", err)
}

// lock locks the lock file of a folder, which it opens with flag.
func lock(path string, flag int) (*flock.Flock, error) {
	lock := flock.New(filepath.Join(path, lockName), flock.SetFlag(flag))
	locked, err := lock.TryLock()
	if err == nil && !locked {
		err = fmt.Errorf("another process uses the folder %q", path)
	}
	if err == nil {
		// The locked file may have been removed, with its folder, by another process.
		_, err = os.Stat(lock.Path())
	}
	if err != nil {
		_ = lock.Close()
		return nil, err
	}
	return lock, nil
}

// removeStale removes the folders that no process has locked.
func removeStale(parent, prefix string) {
	found, _ := filepath.Glob(filepath.Join(parent, prefix+"*"))
	for _, path := range found {
		// A folder without a lock file is being created.
		if lock, err := lock(path, os.O_RDWR); err == nil {
			_ = os.RemoveAll(path)
			_ = lock.Close()
		}
	}
}

// Remove removes the folder and its contents.
func (f *Folder) Remove() error {
	err := os.RemoveAll(f.Path)
	_ = f.lock.Close()
	return err
}
