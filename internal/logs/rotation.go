// SPDX-License-Identifier: Apache-2.0

package logs

import (
	"cmp"
	"context"
	"encoding/binary"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/klauspost/compress/gzip"
)

// rotation is a rotated file of a log.
type rotation struct {
	name string // without the compression suffix
	time string // sorts like the rotation time
	turn int    // distinguishes rotations in the same millisecond
}

// rotationPattern is what the rotating writer inserts between the stem and the extension of the
// current file's name.
var rotationPattern = regexp.MustCompile(`^-(\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d\.\d{3})-[a-z]+(?:_(\d+))?$`)

const gzipSuffix = ".gz"

// rotations lists the rotated files of the current file path, oldest first.
func (f *Folder) rotations(path string) []rotation {
	root, name, err := f.rootOf(path)
	if err != nil {
		return nil
	}
	defer root.Close()
	names, err := regularNames(root, filepath.Dir(name))
	if err != nil {
		return nil
	}
	base := filepath.Base(name)
	ext := filepath.Ext(base)
	stem := strings.TrimSuffix(base, ext)
	var found []rotation
	for _, n := range names {
		n = strings.TrimSuffix(n, gzipSuffix)
		middle, ok := strings.CutPrefix(n, stem)
		if !ok {
			continue
		}
		if middle, ok = strings.CutSuffix(middle, ext); !ok {
			continue
		}
		if m := rotationPattern.FindStringSubmatch(middle); m != nil {
			turn, _ := strconv.Atoi(m[2]) // No number means the first turn.
			found = append(found, rotation{n, m[1], turn})
		}
	}
	slices.SortFunc(found, func(a, b rotation) int {
		return cmp.Or(cmp.Compare(a.time, b.time), cmp.Compare(a.turn, b.turn))
	})
	return slices.Compact(found)
}

// between passes on the files that appeared between the old file, whose rotations were seen, and
// the current one: under load a file can be filled and rotated within one poll.
func (t *tail) between(ctx context.Context, seen map[string]bool, old fs.FileInfo, oldSize int64) error {
	fresh := t.folder.rotations(t.path)
	fresh = slices.DeleteFunc(fresh, func(r rotation) bool { return seen[r.name] || !t.rotated[r.name] })
	for i, r := range fresh {
		if t.folder.isRotated(t.sibling(r.name), old, oldSize) {
			fresh = fresh[i+1:]
			break
		}
	}
	for _, r := range fresh {
		if err := t.copyRotated(ctx, t.sibling(r.name)); err != nil {
			return err
		}
	}
	return nil
}

func (t *tail) sibling(name string) string {
	return filepath.Join(filepath.Dir(filepath.Clean(t.path)), name)
}

// isRotated reports whether the rotated file at path is the file old: the same file or, after
// compression, one with the same number of bytes.
func (f *Folder) isRotated(path string, old fs.FileInfo, oldSize int64) bool {
	if info, err := f.stat(path); err == nil {
		return os.SameFile(info, old)
	}
	file, info, err := f.openRegular(path + gzipSuffix)
	if err != nil {
		return false
	}
	defer file.Close()
	var length [4]byte // A gzip file ends with its uncompressed size modulo 2³².
	if _, err := file.ReadAt(length[:], info.Size()-int64(len(length))); err != nil {
		return false
	}
	return binary.LittleEndian.Uint32(length[:]) == uint32(oldSize)
}

// copyRotated passes on a whole rotated file, compressed or not. A file that has been removed by
// the retention is skipped.
func (t *tail) copyRotated(ctx context.Context, path string) error {
	if file, _, err := t.folder.openRegular(path); err == nil {
		defer file.Close()
		if err := t.copy(ctx, file); err != nil {
			return err
		}
		return t.finish()
	}
	file, _, err := t.folder.openRegular(path + gzipSuffix)
	if err != nil {
		return nil
	}
	defer file.Close()
	unpacked, err := gzip.NewReader(file)
	if err != nil {
		return nil // Not a file of the rotating writer.
	}
	if err := t.copy(ctx, unpacked); err != nil {
		return err
	}
	return t.finish()
}
