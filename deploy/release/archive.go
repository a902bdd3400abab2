// SPDX-License-Identifier: Apache-2.0

package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"cmp"
	"compress/gzip"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"time"
)

// writeArchive writes base.tar.gz, or base.zip for Windows, which contain one folder with the same
// name.
func (r release) writeArchive(t target, base string, files []file) error {
	pack, suffix := tarball, ".tar.gz"
	if t.os == "windows" {
		pack, suffix = zipped, ".zip"
	}
	data, err := pack(files, base, r.time)
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(r.out, base+suffix), data, 0o644)
}

// zipped packs files below a folder as a ZIP archive.
func zipped(files []file, folder string, at time.Time) ([]byte, error) {
	var b bytes.Buffer
	archive := zip.NewWriter(&b)
	for _, f := range files {
		header := &zip.FileHeader{Name: path.Join(folder, f.name), Method: zip.Deflate, Modified: at.UTC()}
		header.SetMode(f.mode)
		w, err := archive.CreateHeader(header)
		if err != nil {
			return nil, fmt.Errorf("pack %s: %w", f.name, err)
		}
		if _, err := w.Write(f.data); err != nil {
			return nil, fmt.Errorf("pack %s: %w", f.name, err)
		}
	}
	if err := archive.Close(); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

// tarball packs files below a folder. Owner and times do not depend on the machine.
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

// sortFiles sorts files into a reproducible order.
func sortFiles(files []file) {
	slices.SortFunc(files, func(x, y file) int { return cmp.Compare(x.name, y.name) })
}
