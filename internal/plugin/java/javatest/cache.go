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

// keptTime is for how long classes are kept that nobody needs any more.
const keptTime = 14 * 24 * time.Hour

// keptFile is where the classes of what a key names are kept for other processes: they follow from the sources, the flags, the
// compiler and the jar that they are compiled against. It is empty if there is no place for them.
func keptFile(t testing.TB, key string) string {
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

// readKept reads classes that were kept; nil if there are none.
func readKept(file string) (classes map[string]string) {
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

// keep keeps classes for other processes, and removes what nobody made for long. If it fails, they compile again.
func keep(file string, classes map[string]string) {
	if file == "" || os.MkdirAll(filepath.Dir(file), 0o700) != nil {
		return
	}
	old, _ := filepath.Glob(filepath.Join(filepath.Dir(file), "*"))
	for _, path := range old {
		if info, err := os.Stat(path); err == nil && time.Since(info.ModTime()) > keptTime {
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
