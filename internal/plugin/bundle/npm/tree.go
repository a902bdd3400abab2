// SPDX-License-Identifier: Apache-2.0

package npm

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"

	"example.org/app/internal/scratch"
)

// A Tree is a folder with packages of a lock file, in npm's layout. The caller must close it.
type Tree struct {
	// Dir is the parent of node_modules, without symbolic links.
	Dir string

	lock    *Lock
	cache   string
	scratch *scratch.Folder
	// left is how many bytes may still be unpacked.
	left int64
	has  map[string]bool
}

// maxTree bounds the bytes of all packages of a tree.
const maxTree = 1 << 30

// Open returns a tree without packages. Archives are cached in a folder, by hash; "" means the
// user's cache folder.
func (l *Lock) Open(cache string) (*Tree, error) {
	if cache == "" {
		// Without such a folder archives are downloaded each time.
		if dir, err := os.UserCacheDir(); err == nil {
			cache = filepath.Join(dir, "app", "npm")
		}
	}
	s, err := scratch.Open("", "app-packages-")
	if err != nil {
		return nil, err
	}
	t := &Tree{lock: l, cache: cache, scratch: s, left: maxTree, has: map[string]bool{}}
	dir, err := filepath.EvalSymlinks(s.Path)
	if err == nil {
		t.Dir = filepath.Join(dir, "tree")
		err = os.MkdirAll(filepath.Join(t.Dir, modules), 0o700)
	}
	if err != nil {
		t.Close()
		return nil, fmt.Errorf("make a folder for packages: %w", err)
	}
	return t, nil
}

// Close removes the folder.
func (t *Tree) Close() { _ = t.scratch.Remove() }

// Has reports whether a package was added.
func (t *Tree) Has(key string) bool { return t.has[key] }

// fetches is the number of concurrent downloads.
const fetches = 8

// Add unpacks packages from the cache or downloads. It is not safe for concurrent use.
func (t *Tree) Add(ctx context.Context, keys []string) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	archives, errs := make([][]byte, len(keys)), make([]error, len(keys))
	var all sync.WaitGroup
	slots := make(chan struct{}, fetches)
	for i, key := range keys {
		slots <- struct{}{}
		all.Go(func() {
			defer func() { <-slots }()
			p := t.lock.packages[key]
			if archives[i], errs[i] = t.archive(ctx, p); errs[i] != nil {
				if errors.Is(errs[i], context.Canceled) {
					errs[i] = nil // Another one failed first.
					return
				}
				errs[i] = t.describe(key, errs[i])
				cancel()
			}
		})
	}
	all.Wait()
	if err := errors.Join(errs...); err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	for i, key := range keys {
		n, err := unpack(archives[i], filepath.Join(t.Dir, filepath.FromSlash(key)), t.left)
		if err != nil {
			return t.describe(key, err)
		}
		t.left -= n
		t.has[key] = true
		archives[i] = nil
	}
	return nil
}

func (t *Tree) describe(key string, err error) error {
	return fmt.Errorf("get package %q, version %q, of %q: %w", nameOf(key), t.lock.packages[key].Version, t.lock.Path, err)
}
