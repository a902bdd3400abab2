// SPDX-License-Identifier: Apache-2.0

// Package scratch makes folders for files that are of no use after their process. What a process that was killed left
// behind is removed by the next one that makes such a folder.
package scratch

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/gofrs/flock"
)

// A Folder is locked as long as its process lives, so that others know which ones were left behind.
type Folder struct {
	// Path is where it is.
	Path string
	lock *flock.Flock
}

// lockName is the file of a folder that is locked.
const lockName = "lock"

// Open makes a folder whose name begins with a prefix in a parent, which is the system's folder for temporary files if it is
// empty, and removes those with that prefix that processes left there which were killed.
func Open(parent, prefix string) (_ *Folder, err error) {
	if parent == "" {
		parent = os.TempDir()
	}
	removeLeft(parent, prefix)
	for range 100 { // Another process that opens one at this moment may take a new folder for one that was left.
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

// lock locks the file of a folder, which it opens with a flag.
func lock(path string, flag int) (*flock.Flock, error) {
	lock := flock.New(filepath.Join(path, lockName), flock.SetFlag(flag))
	locked, err := lock.TryLock()
	if err == nil && !locked {
		err = fmt.Errorf("another process uses the folder %q", path)
	}
	if err == nil {
		// The file may be locked because another process has removed it with the folder.
		_, err = os.Stat(lock.Path())
	}
	if err != nil {
		_ = lock.Close()
		return nil, err
	}
	return lock, nil
}

// removeLeft removes the folders that nobody holds.
func removeLeft(parent, prefix string) {
	found, _ := filepath.Glob(filepath.Join(parent, prefix+"*"))
	for _, path := range found {
		// One without a lock is being made at this moment.
		if lock, err := lock(path, os.O_RDWR); err == nil {
			_ = os.RemoveAll(path)
			_ = lock.Close()
		}
	}
}

// Remove removes the folder with all that is in it.
func (f *Folder) Remove() error {
	err := os.RemoveAll(f.Path)
	_ = f.lock.Close()
	return err
}
