// SPDX-License-Identifier: Apache-2.0

//go:build unix

package pgserver

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// fillOnce is fill for a command with deterministic output. The files are cached in a folder and
// copied from there the next time, because initdb takes a second of processor time. A cache that
// cannot be written is no error.
func (f Folder) fillOnce(cache string, command ...string) error {
	kept := f.kept(cache, command)
	if kept == "" {
		return f.fill(command...)
	}
	err := f.copyTo(f.data(), kept)
	if errors.Is(err, fs.ErrNotExist) {
		if err := f.fill(command...); err != nil {
			return err
		}
		keep(f.data(), kept)
		return nil
	}
	if err != nil {
		return errors.Join(err, os.RemoveAll(f.data()))
	}
	return nil
}

// kept returns the cache folder of a command, or "" without a cache.
func (f Folder) kept(cache string, command []string) string {
	if cache == "" {
		return ""
	}
	version, err := exec.Command(filepath.Join(f.programs, "postgres"), "--version").Output()
	if err != nil {
		return ""
	}
	zone, _ := os.Readlink("/etc/localtime") // The files contain the machine's time zone.
	sum := sha256.Sum256([]byte(strings.Join(append(command, string(version), f.programs, zone, os.Getenv("TZ")), "\x00")))
	return filepath.Join(cache, hex.EncodeToString(sum[:16]))
}

// keep copies files to the cache, atomically.
func keep(data, kept string) {
	parent := filepath.Dir(kept)
	if os.MkdirAll(parent, 0o700) != nil {
		return
	}
	temporary, err := os.MkdirTemp(parent, "new")
	if err != nil {
		return
	}
	defer func() { _ = os.RemoveAll(temporary) }()
	files := filepath.Join(temporary, "data")
	if os.CopyFS(files, os.DirFS(data)) == nil {
		_ = os.Rename(files, kept) // Another process may have been faster.
	}
}

// copyTo copies cached files to a new folder, owned by the server's user.
func (f Folder) copyTo(data, kept string) error {
	if _, err := os.Stat(kept); err != nil {
		return err
	}
	if err := os.CopyFS(data, os.DirFS(kept)); err != nil {
		return err
	}
	return filepath.WalkDir(data, func(path string, entry fs.DirEntry, err error) error {
		if err == nil && entry.IsDir() {
			err = os.Chmod(path, 0o700)
		}
		if who := f.attributes.Credential; err == nil && who != nil {
			err = os.Lchown(path, int(who.Uid), int(who.Gid))
		}
		return err
	})
}
