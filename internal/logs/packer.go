// SPDX-License-Identifier: Apache-2.0

package logs

import (
	"errors"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"github.com/klauspost/compress/gzip"
)

const (
	// packInterval is how often the packer looks for rotated files.
	packInterval = 5 * time.Second
	// packPiece is the number of bytes between two pauses: a fraction of a millisecond of work.
	packPiece = 16 << 10
	// packRest is the duration of a pause as a multiple of the work before it.
	packRest = 3
	// packingSuffix marks an incomplete file.
	packingSuffix = ".packing"
)

// errStopped ends the packing of a file when the log is closed. The next process packs it.
var errStopped = errors.New("the log is closed")

// packer compresses the rotated files of one log with gzip, one after another. It is slow on
// purpose: at full speed a file would occupy a processor for a good part of a second, in which
// every request waits longer.
type packer struct {
	folder *Folder
	path   string
	failed func(error)
	stop   chan struct{}
	done   chan struct{}
}

// newPacker starts the packer for the rotations of a file, in a goroutine that close ends.
func newPacker(path string, logger *slog.Logger) *packer {
	p := &packer{
		folder: OpenFolder(filepath.Dir(path)), path: path, stop: make(chan struct{}), done: make(chan struct{}),
		failed: func(err error) { logger.Warn("rotated log file cannot be compressed and stays as it is", "error", err) },
	}
	go p.run()
	return p
}

func (p *packer) run() {
	defer close(p.done)
	// A file that cannot be compressed is reported once.
	bad := map[string]bool{}
	for {
		for _, r := range p.folder.rotations(filepath.Base(p.path)) {
			path := filepath.Join(filepath.Dir(p.path), r.name)
			if bad[path] {
				continue
			}
			switch err := p.pack(path); {
			case errors.Is(err, errStopped):
				return
			case err != nil && !errors.Is(err, fs.ErrNotExist):
				bad[path] = true
				p.failed(err)
			}
		}
		if !p.pause(packInterval) {
			return
		}
	}
}

// pack replaces a file by its compressed form. A file that does not exist was compressed before or
// exceeded the retention.
func (p *packer) pack(path string) (err error) {
	source, err := os.Open(path)
	if err != nil {
		return err
	}
	defer source.Close()
	info, err := source.Stat()
	if err != nil {
		return err
	}
	half := path + packingSuffix
	target, err := os.OpenFile(half, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, info.Mode().Perm())
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = os.Remove(half)
		}
	}()
	if err = errors.Join(p.copy(target, source), target.Close()); err != nil {
		return err
	}
	// If its retention has ended meanwhile, it must not reappear.
	if _, err = os.Stat(path); err != nil {
		return err
	}
	if err = os.Rename(half, path+gzipSuffix); err != nil {
		return err
	}
	return os.Remove(path)
}

// copy compresses the source, with pauses, and syncs the target to disk.
func (p *packer) copy(target *os.File, source io.Reader) error {
	// Log records are so repetitive that the fastest level compresses them nearly as well as the
	// best.
	packed, err := gzip.NewWriterLevel(target, gzip.BestSpeed)
	if err != nil {
		return err
	}
	for {
		begin := time.Now()
		_, err := io.CopyN(packed, source, packPiece)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
		if !p.pause(packRest * time.Since(begin)) {
			return errStopped
		}
	}
	if err := packed.Close(); err != nil {
		return err
	}
	return target.Sync()
}

// pause reports false if the log was closed meanwhile.
func (p *packer) pause(d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-p.stop:
		return false
	}
}

func (p *packer) close() {
	close(p.stop)
	<-p.done
}
