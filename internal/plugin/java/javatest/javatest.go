// SPDX-License-Identifier: Apache-2.0

// Package javatest builds jars of plugins for tests by compiling their sources with the JDK that
// runs them. It is for tests only.
package javatest

import (
	"archive/zip"
	"bytes"
	"context"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"example.org/app/internal/plugin/java"
	"example.org/app/test/need"
)

// A Plugin is a plugin to compile.
type Plugin struct {
	// ID, Version and Class are fields of the descriptor.
	ID, Version, Class string
	// Descriptor replaces the whole plugin.yaml; "-" means no descriptor.
	Descriptor string
	// Sources are Java files by path.
	Sources map[string]string
	// Flags are additional flags of the compiler.
	Flags []string
	// Files are other files of the jar by name.
	Files map[string]string
	// Only is the folder of the classes to include; empty means all. Plugins with the same sources
	// are compiled once.
	Only string
	// Without are classes that are compiled but not included, by name with slashes.
	Without []string
}

// Sources reads the Java files below a folder.
func Sources(t testing.TB, dir string) map[string]string {
	t.Helper()
	files := make(map[string]string)
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() || filepath.Ext(path) != ".java" {
			return err
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		name, err := filepath.Rel(dir, path)
		files[filepath.ToSlash(name)] = string(data)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// Home returns the folder of the JDK. It skips the test without a JDK, in a tree without built
// jars, and in the inner loop, which starts no JVM.
func Home(t testing.TB) string {
	t.Helper()
	need.Time(t)
	r, err := java.Find(t.Context(), os.Getenv("APP_TEST_JAVA_HOME"))
	if err == nil {
		_, err = os.Stat(filepath.Join(r.Home, "bin", "javac"))
	}
	if err == nil {
		_, err = java.Jar(java.HostJar)
	}
	if err != nil {
		need.Skip(t, "java", err)
	}
	prepare()
	return r.Home
}

// prepare creates the class cache for JVMs with the usual flags, unless it exists or another
// process is creating it. JVMs start without it as well.
var prepare = sync.OnceFunc(func() {
	if h, err := java.New(java.Options{Home: os.Getenv("APP_TEST_JAVA_HOME"), ClassCache: ClassCache()}); err == nil {
		_ = h.PrepareClassCache(context.Background())
	}
})

// ClassCache returns the folder of class caches that all tests on a machine share; "" if there is
// none.
func ClassCache() string {
	dir := need.Cache()
	if dir == "" {
		return ""
	}
	return filepath.Join(dir, "test-classes")
}

// Quick are flags of short-lived JVMs: they compile methods fast rather than optimally, which takes
// a quarter of the processor time of such a JVM.
var Quick = []string{"-XX:TieredStopAtLevel=1"}

// compiled contains a compilation for each key, because compiling is slow.
var compiled sync.Map

// A compilation is done once. Parallel tests wait for it.
type compilation struct {
	mu      sync.Mutex
	classes map[string]string
}

// Jar compiles a plugin and returns its jar.
func Jar(t testing.TB, p Plugin) []byte {
	t.Helper()
	classes := compile(t, p)
	classes = maps.Clone(classes)
	maps.DeleteFunc(classes, func(name, _ string) bool {
		return !strings.HasPrefix(name, p.Only) || slices.Contains(p.Without, strings.TrimSuffix(name, ".class"))
	})
	descriptor := p.Descriptor
	if descriptor == "" {
		descriptor = "id: " + p.ID + "\nversion: " + p.Version + "\nclass: " + p.Class + "\n"
	}
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	add := func(name, text string) {
		w, err := z.Create(name)
		if err == nil {
			_, err = w.Write([]byte(text))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if descriptor != "-" {
		add("plugin.yaml", descriptor)
	}
	for _, files := range []map[string]string{classes, p.Files} {
		for _, name := range slices.Sorted(maps.Keys(files)) {
			add(name, files[name])
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// compile returns the classes of a plugin by file name.
func compile(t testing.TB, p Plugin) map[string]string {
	t.Helper()
	if len(p.Sources) == 0 {
		return nil
	}
	key := strings.Join(p.Flags, "\x00")
	for _, name := range slices.Sorted(maps.Keys(p.Sources)) {
		key += "\x00" + name + "\x00" + p.Sources[name]
	}
	found, _ := compiled.LoadOrStore(key, new(compilation))
	c := found.(*compilation)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.classes == nil {
		file := cacheFile(t, key)
		if c.classes = readCached(file); c.classes == nil {
			c.classes = runCompiler(t, p)
			store(file, c.classes)
		}
	}
	return c.classes
}

// runCompiler compiles the sources of a plugin.
func runCompiler(t testing.TB, p Plugin) map[string]string {
	t.Helper()
	home := Home(t)
	host, err := java.Jar(java.HostJar)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	write := func(name string, data []byte) string {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	out := filepath.Join(dir, "classes")
	args := append([]string{
		"-J-XX:+UseSerialGC", "-J-XX:TieredStopAtLevel=1", "-nowarn", "-g", "-proc:none", "-Xlint:none",
		"-d", out, "-cp", write("host.jar", host),
	}, p.Flags...)
	if !slices.Contains(p.Flags, "--release") {
		args = append(args, "--release", "21")
	}
	for _, name := range slices.Sorted(maps.Keys(p.Sources)) {
		args = append(args, write("sources/"+name, []byte(p.Sources[name])))
	}
	if text, err := exec.CommandContext(t.Context(), filepath.Join(home, "bin", "javac"), args...).CombinedOutput(); err != nil {
		t.Fatalf("javac: %v\n%s", err, text)
	}
	classes := make(map[string]string)
	err = filepath.WalkDir(out, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		name, err := filepath.Rel(out, path)
		classes[filepath.ToSlash(name)] = string(data)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return classes
}
