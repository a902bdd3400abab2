// SPDX-License-Identifier: Apache-2.0

package java_test

import (
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"example.org/app/internal/plugin/java"
	"example.org/app/internal/plugin/java/javatest"
)

// cacheFiles returns the class caches in a folder.
func cacheFiles(t *testing.T, dir string) []string {
	t.Helper()
	list, err := filepath.Glob(filepath.Join(dir, "*.classes"))
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// startWith starts a JVM with a folder of class caches. It returns the file from which the JVM
// reports that it loaded the host's classes; "" if none.
func startWith(t *testing.T, dir string) (w *world, file string) {
	t.Helper()
	classes := filepath.Join(t.TempDir(), "classes.log")
	w = newWorld(t, func(o *java.Options) {
		o.ClassCache, o.Flags = dir, append([]string{"-Xlog:class+load:file=" + classes}, o.Flags...)
	})
	w.says(w.load("a", faults(t, "a")), "echo", "echo")
	data, err := os.ReadFile(classes)
	if err != nil {
		t.Fatal(err)
	}
	_, rest, found := strings.Cut(string(data), " im.app.plugin.host.Host ")
	if !found {
		t.Fatal("the JVM does not say where the host's classes are from")
	}
	source, _, _ := strings.Cut(rest, "\n")
	if !strings.Contains(source, "shared objects file") {
		return w, ""
	}
	_, rest, _ = strings.Cut(w.log.String(), "classcache=")
	file, _, _ = strings.Cut(rest, " ")
	return w, file
}

// copyCache copies the class cache that tests share to a new folder. It creates the cache if it is
// missing, because any test may have removed it.
func copyCache(t *testing.T) (dir string) {
	t.Helper()
	h, err := java.New(java.Options{Home: os.Getenv("APP_TEST_JAVA_HOME"), ClassCache: javatest.ClassCache()})
	if err != nil {
		t.Fatal(err)
	}
	dir = filepath.Join(t.TempDir(), "caches")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	waitFor(t, "the class cache of all tests", func() bool {
		if err := h.PrepareClassCache(t.Context()); err != nil { // nil if another process is creating it.
			t.Fatal(err)
		}
		if len(cacheFiles(t, javatest.ClassCache())) == 0 {
			return false
		}
		_, shared := startWith(t, javatest.ClassCache())
		data, err := os.ReadFile(shared)
		if err != nil { // The JVM did not use it, or it was removed meanwhile.
			return false
		}
		if err := os.WriteFile(filepath.Join(dir, filepath.Base(shared)), data, 0o600); err != nil {
			t.Fatal(err)
		}
		return true
	})
	return dir
}

// rewrite changes a class cache. If sum is true, its name has the checksum of the new content.
func rewrite(t *testing.T, file string, sum bool, change func(data []byte) []byte) {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	data = change(data)
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	if sum {
		key, _, _ := strings.Cut(filepath.Base(file), "-")
		file = filepath.Join(filepath.Dir(file), fmt.Sprintf("%s-%08x.classes", key, crc32.Checksum(data, crc32.MakeTable(crc32.Castagnoli))))
	}
	if err := os.WriteFile(file, data, 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestDamagedClassCache verifies that JVMs start despite a damaged class cache.
func TestDamagedClassCache(t *testing.T) {
	t.Parallel()
	shared := copyCache(t)
	half := func(data []byte) []byte { return data[:len(data)/2] }
	garbage := func(data []byte) []byte {
		for i := len(data) / 3; i < len(data); i++ {
			data[i] = byte(i * 7)
		}
		return data
	}
	for _, c := range []struct {
		name    string
		sum     bool
		change  func(data []byte) []byte
		removed bool
	}{
		{"empty", false, func([]byte) []byte { return nil }, true},
		{"half", false, half, true},
		{"garbage", false, garbage, true},
		{"half with its checksum", true, half, false},
		{"garbage with its checksum", true, garbage, true}, // JVMs crash on it.
		{"text with its checksum", true, func([]byte) []byte { return []byte("no classes") }, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			if err := os.CopyFS(dir, os.DirFS(shared)); err != nil {
				t.Fatal(err)
			}
			rewrite(t, cacheFiles(t, dir)[0], c.sum, c.change)
			w, file := startWith(t, dir)
			if file != "" {
				t.Errorf("the JVM uses %s", file)
			}
			if left := cacheFiles(t, dir); len(left) != 0 && c.removed {
				t.Errorf("%v is still there", left)
			}
			if n := w.Stats().Restarts; n != 0 {
				t.Errorf("%d JVMs died", n)
			}
		})
	}
}

// TestKilledWithClassCache kills a JVM that is starting with a class cache, as the kernel does when
// memory is short, and verifies that the next one uses the cache.
func TestKilledWithClassCache(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("only Linux has /proc, where the test finds the JVM")
	}
	dir := copyCache(t)
	mark := "-Dapp.test=" + dir
	w := newWorld(t, func(o *java.Options) { o.ClassCache, o.Flags = dir, append([]string{mark}, o.Flags...) })
	killed := make(chan error, 1)
	go func() {
		for t.Context().Err() == nil {
			files, _ := filepath.Glob("/proc/[0-9]*/cmdline")
			for _, file := range files {
				if command, _ := os.ReadFile(file); !strings.Contains(string(command), mark) {
					continue
				}
				pid, err := strconv.Atoi(filepath.Base(filepath.Dir(file)))
				killed <- errors.Join(err, syscall.Kill(pid, syscall.SIGKILL))
				return
			}
		}
	}()
	m := w.load("a", faults(t, "a"))
	if err := <-killed; err != nil {
		t.Fatal(err)
	}
	w.says(m, "echo", "echo")
	if !w.log.has("a JVM was killed while it was starting") {
		t.Error("the log does not say that the JVM was killed")
	}
	if len(cacheFiles(t, dir)) != 1 {
		t.Errorf("the class cache is gone: %s", w.log)
	}
	if _, file := startWith(t, dir); file == "" {
		t.Error("the next JVM does not use the class cache")
	}
}

// TestUnusedClassCache verifies that no class cache is used with debugging, an agent or
// another garbage collector.
func TestUnusedClassCache(t *testing.T) {
	t.Parallel()
	dir := copyCache(t)
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "localhost:0")
	if err != nil {
		t.Fatal(err)
	}
	port := l.Addr().(*net.TCPAddr).Port
	l.Close()
	for _, change := range []func(*java.Options){
		func(o *java.Options) { o.Debug.Port = port },
		func(o *java.Options) {
			o.Flags = []string{"-agentlib:jdwp=transport=dt_socket,server=y,suspend=n,address=localhost:0"}
		},
		func(o *java.Options) { o.Flags = []string{"-XX:-UseSerialGC", "-XX:+UseParallelGC"} },
	} {
		w := newWorld(t, func(o *java.Options) {
			o.ClassCache = dir
			change(o)
		})
		w.load("a", faults(t, "a"))
		if !w.log.has(`classcache="" `) {
			t.Errorf("a class cache is used: %s", w.log)
		}
	}
}

// TestClassCacheThatOthersMayWrite verifies that no class cache is used from a folder that other
// users have write access to, nor created there, and that the log says why.
func TestClassCacheThatOthersMayWrite(t *testing.T) {
	t.Parallel()
	dir := copyCache(t)
	before := cacheFiles(t, dir)
	for _, mode := range []os.FileMode{0o770, 0o707} {
		if err := os.Chmod(dir, mode); err != nil {
			t.Fatal(err)
		}
		w := newWorld(t, func(o *java.Options) { o.ClassCache, o.MakeClassCache, o.ClassCacheDelay = dir, true, time.Millisecond })
		w.load("a", faults(t, "a"))
		if !w.log.has(`classcache="" `) {
			t.Errorf("with mode %o, a class cache is used: %s", mode, w.log)
		}
		waitFor(t, "a line of the log", func() bool {
			return w.log.has("could not be made", "other users have write access", fmt.Sprintf("%#o", mode))
		})
		if now := cacheFiles(t, dir); !slices.Equal(now, before) {
			t.Errorf("with mode %o, there are %q instead of %q", mode, now, before)
		}
	}
}

// TestMakeClassCache lets two hosts need a class cache concurrently: one of them creates it,
// and the next JVM of each uses it.
func TestMakeClassCache(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "a", "caches")
	make := func(o *java.Options) { o.ClassCache, o.MakeClassCache, o.ClassCacheDelay = dir, true, time.Millisecond }
	one, two := newWorld(t, make), newWorld(t, make)
	a, b := one.load("a", faults(t, "a")), two.load("b", faults(t, "b"))
	waitFor(t, "the class cache", func() bool { return one.log.has("is made") || two.log.has("is made") })
	if one.log.has("is made") && two.log.has("is made") || one.log.has("could not be made") || two.log.has("could not be made") {
		t.Errorf("both made it, or one failed: %s %s", one.log, two.log)
	}
	file := cacheFiles(t, dir)[0]
	one.kill(one.pid(a))
	two.kill(two.pid(b))
	one.says(a, "echo", "echo")
	two.says(b, "echo", "echo")
	for _, w := range []*world{one, two} {
		if !w.log.has("classcache=" + file) {
			t.Errorf("a JVM does not use the class cache: %s", w.log)
		}
	}
	if _, used := startWith(t, dir); used != file {
		t.Errorf("a JVM of another host uses %q", used)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 2 { // The lock and the file.
		t.Errorf("in the folder are %v, %v", left, err)
	}
}

// TestClassCacheWithoutPlace verifies that JVMs start if no class cache can be created, which
// is logged once.
func TestClassCacheWithoutPlace(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	w := newWorld(t, func(o *java.Options) {
		o.ClassCache, o.MakeClassCache, o.ClassCacheDelay = filepath.Join(file, "caches"), true, time.Millisecond
	})
	m := w.load("a", faults(t, "a"))
	waitFor(t, "the failure", func() bool { return w.log.has("the class cache of the Java host could not be made", "not a directory") })
	w.kill(w.pid(m))
	w.says(m, "echo", "echo")
	if n := strings.Count(w.log.String(), "could not be made"); n != 1 {
		t.Errorf("the log says it %d times", n)
	}
}

// TestCloseWhileClassCacheIsMade verifies that a host that is closed while it creates a class
// cache leaves no files behind and logs no failure.
func TestCloseWhileClassCacheIsMade(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "caches")
	w := newWorld(t, func(o *java.Options) { o.ClassCache, o.MakeClassCache, o.ClassCacheDelay = dir, true, time.Millisecond })
	w.load("a", faults(t, "a"))
	waitFor(t, "the work on the class cache", func() bool {
		found, err := filepath.Glob(filepath.Join(dir, "making-*", "training*"))
		return err == nil && len(found) > 0 || w.log.has("is made")
	})
	if err := w.Close(context.Background()); err != nil {
		t.Error(err)
	}
	if found, err := filepath.Glob(filepath.Join(dir, "making-*")); err != nil || len(found) != 0 {
		t.Errorf("%v is left, %v", found, err)
	}
	if w.log.has("could not be made") {
		t.Error("the log reports the end of the host as a failure")
	}
}
