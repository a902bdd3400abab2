// SPDX-License-Identifier: Apache-2.0

package java

import (
	"archive/zip"
	"bytes"
	"errors"
	"fmt"
	"io"
	"path"
	"strings"

	"example.org/app/internal/plugin"
)

// The limits of an archive. They are far above the sizes of real plugins with their libraries,
// and far below those that harm a server.
const (
	maxEntries  = 100_000
	maxUnpacked = 1 << 30
	// maxRatio bounds the compression ratio of an entry larger than freeSize; Deflate reaches about
	// 1030.
	maxRatio      = 200
	freeSize      = 16 << 20
	maxDescriptor = 64 << 10
	maxEntryName  = 4096
)

// An archive is a jar that is safe to open.
type archive struct{ entries []*zip.File }

// openArchive validates a jar. The archive must be complete, its names must not lead outside,
// and its entries must have the declared sizes, within the limits.
func openArchive(data []byte) (*archive, error) {
	z, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
	switch {
	case errors.Is(err, zip.ErrInsecurePath): // The names are checked below.
	case err != nil:
		return nil, fmt.Errorf("the file is not a jar, or only part of one: %w", err)
	}
	if len(z.File) > maxEntries {
		return nil, fmt.Errorf("the jar has %d entries, at most %d are allowed", len(z.File), maxEntries)
	}
	seen := make(map[string]bool, len(z.File))
	var total uint64
	for _, f := range z.File {
		if err := checkEntry(f); err != nil {
			return nil, err
		}
		if seen[f.Name] && !harmless(f.Name) {
			return nil, fmt.Errorf("the jar has the entry %q twice", shorten(f.Name))
		}
		seen[f.Name] = true
		if total += f.UncompressedSize64; f.UncompressedSize64 > maxUnpacked || total > maxUnpacked {
			return nil, fmt.Errorf("the jar has more than %d bytes when it is unpacked", maxUnpacked)
		}
	}
	a := &archive{z.File}
	for _, f := range z.File {
		if err := measure(f); err != nil {
			return nil, err
		}
	}
	return a, nil
}

// harmless reports whether duplicates of an entry do not matter. Tools that merge libraries leave
// duplicate licences, manifests and folders; duplicate classes or descriptors are ambiguous.
func harmless(name string) bool {
	return strings.HasSuffix(name, "/") || strings.HasPrefix(name, "META-INF/") && !strings.HasSuffix(name, ".class")
}

// checkEntry validates an entry of the archive's directory.
func checkEntry(f *zip.File) error {
	name := f.Name
	switch {
	case name == "" || len(name) > maxEntryName || strings.ContainsAny(name, "\x00\\"):
		return fmt.Errorf("the jar has an entry with the name %q, which cannot be the name of a file", shorten(name))
	case strings.HasPrefix(name, "/") || len(name) > 1 && name[1] == ':':
		return fmt.Errorf("the jar has the entry %q: names must not be absolute", shorten(name))
	case path.Clean(name) != strings.TrimSuffix(name, "/") || name == ".." || strings.HasPrefix(name, "../"):
		return fmt.Errorf("the jar has the entry %q: names must not lead elsewhere", shorten(name))
	case f.Flags&1 != 0:
		return fmt.Errorf("the entry %q of the jar is encrypted", shorten(name))
	case f.UncompressedSize64 > freeSize && f.UncompressedSize64/maxRatio > f.CompressedSize64:
		return fmt.Errorf("the entry %q of the jar has %d bytes and says that they become %d: that is not a plugin", shorten(name), f.CompressedSize64, f.UncompressedSize64)
	}
	return nil
}

// measure decompresses an entry and fails if it is damaged or does not have the declared size.
func measure(f *zip.File) error {
	if strings.HasSuffix(f.Name, "/") {
		return nil
	}
	r, err := f.Open()
	if err != nil {
		return fmt.Errorf("the entry %q of the jar cannot be read: %w", shorten(f.Name), err)
	}
	defer r.Close()
	n, err := io.Copy(io.Discard, io.LimitReader(r, int64(f.UncompressedSize64)+1))
	switch {
	case err != nil:
		return fmt.Errorf("the entry %q of the jar is damaged: %w", shorten(f.Name), err)
	case uint64(n) != f.UncompressedSize64:
		return fmt.Errorf("the entry %q of the jar has more bytes than the %d that it says", shorten(f.Name), f.UncompressedSize64)
	}
	return nil
}

// descriptor returns the name and the text of the descriptor.
func (a *archive) descriptor() (name string, text []byte, err error) {
	var found []*zip.File
	for _, f := range a.entries {
		if !strings.Contains(f.Name, "/") && strings.HasPrefix(f.Name, "plugin.") && (strings.HasSuffix(f.Name, ".yaml") || strings.HasSuffix(f.Name, ".yml")) {
			found = append(found, f)
		}
	}
	switch {
	case len(found) == 0:
		return "", nil, errNoDescriptor
	case len(found) > 1:
		return "", nil, fmt.Errorf("the jar has several descriptors, %s and %s: there must be one", found[0].Name, found[1].Name)
	case found[0].UncompressedSize64 > maxDescriptor:
		return "", nil, fmt.Errorf("%s has %d bytes, at most %d are allowed", found[0].Name, found[0].UncompressedSize64, maxDescriptor)
	}
	r, err := found[0].Open()
	if err != nil {
		return "", nil, fmt.Errorf("read %s: %w", found[0].Name, err)
	}
	defer r.Close()
	text, err = io.ReadAll(r)
	return found[0].Name, text, err
}

// errNoDescriptor reports that a jar is not a plugin.
var errNoDescriptor error = noDescriptor{}

type noDescriptor struct{}

func (noDescriptor) Error() string {
	return "the jar is not a plugin: it has no plugin.yaml at its root"
}
func (noDescriptor) Unwrap() error { return plugin.ErrNoPlugin }

// shorten truncates a text for a message.
func shorten(s string) string {
	if len(s) <= 80 {
		return s
	}
	return s[:80] + "…"
}
