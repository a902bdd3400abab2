// SPDX-License-Identifier: Apache-2.0

package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"time"
)

// writeArchive writes base.tar.gz with one folder of the same name in it.
func (r release) writeArchive(base string, files []file) error {
	data, err := tarball(files, base, r.time)
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(r.out, base+".tar.gz"), data, 0o644)
}

// tarball packs files below a folder. Owner and times do not depend on where it runs.
func tarball(files []file, folder string, at time.Time) ([]byte, error) {
	var b bytes.Buffer
	compressed, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
	if err != nil {
		return nil, err
	}
	archive := tar.NewWriter(compressed)
	folders := map[string]bool{".": true, "/": true}
	var addFolder func(name string) error
	addFolder = func(name string) error {
		if folders[name] {
			return nil
		}
		folders[name] = true
		if err := addFolder(path.Dir(name)); err != nil {
			return err
		}
		return archive.WriteHeader(&tar.Header{Typeflag: tar.TypeDir, Name: name + "/", Mode: 0o755, ModTime: at, Format: tar.FormatGNU})
	}
	for _, f := range files {
		name := path.Join(folder, f.name)
		if folder == "." {
			name = "./" + f.name
		}
		if err := addFolder(path.Dir(name)); err != nil {
			return nil, err
		}
		if f.mode.IsDir() {
			if err := addFolder(path.Clean(name)); err != nil {
				return nil, err
			}
			continue
		}
		if err := archive.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: name, Mode: int64(f.mode.Perm()), Size: int64(len(f.data)), ModTime: at, Format: tar.FormatGNU}); err != nil {
			return nil, fmt.Errorf("pack %s: %w", name, err)
		}
		if _, err := archive.Write(f.data); err != nil {
			return nil, fmt.Errorf("pack %s: %w", name, err)
		}
	}
	if err := archive.Close(); err != nil {
		return nil, err
	}
	if err := compressed.Close(); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}
