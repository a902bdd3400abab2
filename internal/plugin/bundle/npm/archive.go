// SPDX-License-Identifier: Apache-2.0

package npm

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"
)

const (
	// maxArchive is the maximum size of a downloaded archive.
	maxArchive = 64 << 20
	// maxFiles is the maximum number of entries in an archive.
	maxFiles = 100_000
	// fetchTimeout bounds the download of one archive.
	fetchTimeout = 2 * time.Minute
)

// install is the hint for unavailable packages.
const install = `"npm ci" installs it into node_modules, which is used instead of the lock file`

// An algorithm is a hash algorithm.
type algorithm struct {
	name string
	make func() hash.Hash
}

// algorithms are the accepted hash algorithms, the strongest first. SHA-1 is not accepted.
var algorithms = []algorithm{{"sha512", sha512.New}, {"sha384", sha512.New384}, {"sha256", sha256.New}}

// A digest is the expected hash of an archive: any of the sums.
type digest struct {
	algorithm algorithm
	sums      [][]byte
}

// parseIntegrity parses a list of hashes in the format of Subresource Integrity: the strongest
// algorithm counts.
func parseIntegrity(text string) (digest, error) {
	for _, a := range algorithms {
		d := digest{algorithm: a}
		for _, part := range strings.Fields(text) {
			part, _, _ = strings.Cut(part, "?")
			encoded, ok := strings.CutPrefix(part, a.name+"-")
			if !ok {
				continue
			}
			sum, err := base64.StdEncoding.DecodeString(encoded)
			if err != nil || len(sum) != a.make().Size() {
				return digest{}, fmt.Errorf("the lock file has %q for its integrity, which is no digest", part)
			}
			d.sums = append(d.sums, sum)
		}
		if len(d.sums) > 0 {
			return d, nil
		}
	}
	if text == "" {
		return digest{}, errors.New("the lock file has no integrity for it; " + install)
	}
	return digest{}, fmt.Errorf("the lock file has only %q for its integrity, not SHA-512, SHA-384 or SHA-256; %s", text, install)
}

func (d digest) check(data []byte) error {
	h := d.algorithm.make()
	h.Write(data)
	got := h.Sum(nil)
	for _, sum := range d.sums {
		if bytes.Equal(got, sum) {
			return nil
		}
	}
	return fmt.Errorf("its digest is %s-%s, not the one in the lock file", d.algorithm.name, base64.StdEncoding.EncodeToString(got))
}

// archive returns the verified archive of a package.
func (t *Tree) archive(ctx context.Context, p lockedPackage) ([]byte, error) {
	if p.Link {
		return nil, errors.New("it is a link to a folder; " + install)
	}
	from, err := url.Parse(p.Resolved)
	switch {
	case p.Resolved == "":
		return nil, errors.New("the lock file does not say where it is (resolved); " + install)
	case err != nil || from.Scheme != "http" && from.Scheme != "https" || from.Host == "":
		return nil, fmt.Errorf("it comes from %q, which is not an archive at an HTTP address; %s", p.Resolved, install)
	}
	want, err := parseIntegrity(p.Integrity)
	if err != nil {
		return nil, err
	}
	var kept string
	if t.cache != "" {
		kept = filepath.Join(t.cache, want.algorithm.name+"-"+hex.EncodeToString(want.sums[0])+".tgz")
		if info, err := os.Stat(kept); err == nil && info.Size() <= maxArchive {
			// A damaged file is downloaded again.
			if data, err := os.ReadFile(kept); err == nil && want.check(data) == nil {
				return data, nil
			}
		}
	}
	data, err := fetch(ctx, from)
	if err != nil {
		return nil, err
	}
	if err := want.check(data); err != nil {
		return nil, fmt.Errorf("fetch %s: %w", from.Redacted(), err)
	}
	if kept != "" {
		keep(kept, data)
	}
	return data, nil
}

// keep writes an archive to the cache. Errors are ignored: the archive is downloaded again next
// time.
func keep(path string, data []byte) {
	if os.MkdirAll(filepath.Dir(path), 0o700) != nil {
		return
	}
	f, err := os.CreateTemp(filepath.Dir(path), "new-*")
	if err != nil {
		return
	}
	_, err = f.Write(data)
	if errors.Join(err, f.Close()) == nil && os.Rename(f.Name(), path) == nil {
		return
	}
	_ = os.Remove(f.Name())
}

// client downloads archives, through the proxy of the environment.
var client = &http.Client{Timeout: fetchTimeout}

func fetch(ctx context.Context, from *url.URL) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, from.String(), nil)
	if err != nil {
		return nil, err
	}
	// The hash is of the archive itself.
	req.Header.Set("Accept-Encoding", "identity")
	r, err := client.Do(req)
	if err != nil {
		return nil, fmt.Errorf("fetch it: %w; try again where the address can be reached: it is kept for later; or %s", err, install)
	}
	defer r.Body.Close()
	if r.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("fetch %s: the answer is %s; %s", from.Redacted(), r.Status, install)
	}
	data, err := io.ReadAll(io.LimitReader(r.Body, maxArchive+1))
	if err != nil {
		return nil, fmt.Errorf("fetch %s: %w", from.Redacted(), err)
	}
	if len(data) > maxArchive {
		return nil, fmt.Errorf("fetch %s: it has more than %d bytes", from.Redacted(), maxArchive)
	}
	return data, nil
}

// unpack writes the files of an archive to a folder, without the first element of their paths, and
// returns their total size, at most limit. Anything else than files and folders is an error.
func unpack(archive []byte, dir string, limit int64) (size int64, err error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return 0, err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return 0, err
	}
	defer root.Close()
	zipped, err := gzip.NewReader(bytes.NewReader(archive))
	if err != nil {
		return 0, fmt.Errorf("unpack: %w", err)
	}
	r := tar.NewReader(zipped)
	for n := 0; ; n++ {
		h, err := r.Next()
		switch {
		case errors.Is(err, io.EOF):
			return size, nil
		case err != nil:
			return size, fmt.Errorf("unpack: %w", err)
		case n >= maxFiles:
			return size, fmt.Errorf("unpack: it has more than %d files", maxFiles)
		case h.Typeflag == tar.TypeXGlobalHeader:
			continue
		case h.Typeflag != tar.TypeReg && h.Typeflag != tar.TypeDir:
			return size, fmt.Errorf("unpack: %q is neither a file nor a folder", h.Name)
		}
		_, name, _ := strings.Cut(strings.TrimPrefix(h.Name, "./"), "/")
		if name = strings.TrimSuffix(name, "/"); name == "" {
			continue
		}
		local := filepath.FromSlash(name)
		if !filepath.IsLocal(local) || strings.ContainsAny(name, "\\\x00") {
			return size, fmt.Errorf("unpack: %q would be outside of the package", h.Name)
		}
		if h.Typeflag == tar.TypeDir {
			if err := root.MkdirAll(local, 0o700); err != nil {
				return size, fmt.Errorf("unpack: %w", err)
			}
			continue
		}
		if h.Size > limit-size {
			return size, fmt.Errorf("unpack: with %q the packages have more than %d bytes", h.Name, maxTree)
		}
		written, err := write(root, local, io.LimitReader(r, limit-size))
		size += written
		if err != nil {
			return size, fmt.Errorf("unpack: %w", err)
		}
	}
}

func write(root *os.Root, name string, r io.Reader) (int64, error) {
	if err := root.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		return 0, err
	}
	f, err := root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return 0, err
	}
	n, err := io.Copy(f, r)
	return n, errors.Join(err, f.Close())
}
