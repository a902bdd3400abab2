// SPDX-License-Identifier: Apache-2.0

package javatest

import (
	"crypto/sha256"
	"encoding/gob"
	"encoding/hex"
	"os"
	"path/filepath"
	"testing"
	"time"

	"example.org/app/internal/plugin/java"
	"example.org/app/test/need"
)

// cacheTime is the retention of unused cached classes.
const cacheTime = 14 * 24 * time.Hour

// cacheFile returns the file that caches the classes of a key for other processes: the key contains
// the sources, the flags, the compiler and the jar that they are compiled against. It is empty if
// there is no place for them.
func cacheFile(t testing.TB, key string) string {
	t.Helper()
	dir := need.Cache()
	if dir == "" {
		return ""
	}
	home := Home(t)
	host, err := java.Jar(java.HostJar)
	if err != nil {
		t.Fatal(err)
	}
	release, err := os.ReadFile(filepath.Join(home, "release"))
	if err != nil {
		return ""
	}
	sum := sha256.New()
	for _, part := range [][]byte{host, release, []byte(home), []byte(key)} {
		digest := sha256.Sum256(part)
		sum.Write(digest[:])
	}
	return filepath.Join(dir, "test-compiled", hex.EncodeToString(sum.Sum(nil)[:16])+".gob")
}

// readCached reads cached classes; nil if there are none.
func readCached(file string) (classes map[string]string) {
	if file == "" {
		return nil
	}
	f, err := os.Open(file)
	if err != nil {
		return nil
	}
	defer f.Close()
	if gob.NewDecoder(f).Decode(&classes) != nil {
		return nil
	}
	return classes
}

// store caches classes for other processes, and removes expired ones. If it fails, those compile
// again.
func store(file string, classes map[string]string) {
	if file == "" || os.MkdirAll(filepath.Dir(file), 0o700) != nil {
		return
	}
	old, _ := filepath.Glob(filepath.Join(filepath.Dir(file), "*"))
	for _, path := range old {
		if info, err := os.Stat(path); err == nil && time.Since(info.ModTime()) > cacheTime {
			_ = os.Remove(path)
		}
	}
	f, err := os.CreateTemp(filepath.Dir(file), "new-")
	if err != nil {
		return
	}
	err = gob.NewEncoder(f).Encode(classes)
	if f.Close() != nil || err != nil || os.Rename(f.Name(), file) != nil {
		_ = os.Remove(f.Name())
	}
}
