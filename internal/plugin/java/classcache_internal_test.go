// SPDX-License-Identifier: Apache-2.0

package java

import (
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"example.org/app/internal/scratch"
	"example.org/app/test/need"
)

// TestClassCacheKey verifies that the key depends on what affects a class cache, and on
// nothing else.
func TestClassCacheKey(t *testing.T) {
	for _, name := range toolOptions {
		t.Setenv(name, "")
	}
	key := func(java Runtime, o Options) string {
		t.Helper()
		if o.ClassCache == "" {
			o.ClassCache = t.TempDir()
		}
		h, err := New(o)
		if err != nil {
			t.Fatal(err)
		}
		return h.cache.key(java)
	}
	java := Runtime{Home: t.TempDir(), Version: "25.0.1", Feature: 25}
	usual := key(java, Options{})
	if len(usual) != 32 {
		t.Fatalf("the key is %q", usual)
	}
	flags := func(f ...string) Options { return Options{Flags: f} }
	for _, o := range []Options{{MaxHeap: 1 << 30}, flags("-Xmx100m"), flags("-XX:TieredStopAtLevel=1", "-Xlog:gc"), flags("-Dapp.x=y"), {Nice: 3, Spare: true}} {
		if got := key(java, o); got != usual {
			t.Errorf("%+v: the key is another one", o)
		}
	}
	seen := map[string]bool{usual: true}
	for _, o := range []Options{{MaxHeap: 64 << 30}, flags("-Xmx40g"), flags("-XX:+UseZGC"), flags("-XX:+UseParallelGC"), flags("--add-modules", "x")} {
		if got := key(java, o); got == "" || seen[got] {
			t.Errorf("%+v: the key is %q", o, got)
		} else {
			seen[got] = true
		}
	}
	for _, o := range []Options{{Debug: Debug{Port: 1}}, flags("-javaagent:x.jar"), flags("-Xshare:off"), flags("-XX:AOTCache=mine")} {
		if got := key(java, o); got != "" {
			t.Errorf("%+v: the key is %q", o, got)
		}
	}
	newer := java
	newer.Version = "25.0.2"
	if got := key(newer, Options{}); seen[got] {
		t.Error("another version of Java has the same key")
	}
	if err := os.MkdirAll(filepath.Join(java.Home, "lib", "server"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(java.Home, "lib", "server", "libjvm.so"), []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := key(java, Options{}); seen[got] {
		t.Error("another JVM of the same version has the same key")
	}
	t.Setenv("JAVA_TOOL_OPTIONS", "-javaagent:x.jar")
	if got := key(java, Options{}); got != "" {
		t.Error("an agent of the environment does not count")
	}
}

// TestSharedArchive creates and uses a class cache in the format for versions of Java without
// caches of linked classes.
func TestSharedArchive(t *testing.T) {
	java, err := Find(t.Context(), os.Getenv("APP_TEST_JAVA_HOME"))
	if err == nil {
		_, err = Jar(HostJar)
	}
	if err != nil {
		need.Skip(t, "java", err)
	}
	java.Feature = aheadOfTimeJava - 1
	h, err := New(Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := h.Close(t.Context()); err != nil {
			t.Error(err)
		}
	}()
	work, err := scratch.Open(t.TempDir(), "making-")
	if err != nil {
		t.Fatal(err)
	}
	file, err := h.cache.make(t.Context(), java, folder{work}, 0)
	if err != nil {
		t.Fatal(err)
	}
	data, err := Jar(HostJar)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	jar, err := folder{&scratch.Folder{Path: dir}}.writeHost(data)
	if err != nil {
		t.Fatal(err)
	}
	s, err := h.openSession(t.Context(), nil, launch{java: java, dir: dir, jar: jar, flags: append(use(java, file), "-Xlog:class+load:file=classes"), log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	s.stop(t.Context())
	text, err := os.ReadFile(filepath.Join(dir, "classes"))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(text), " im.app.plugin.host.Host ")
	if source, _, _ := strings.Cut(rest, "\n"); !strings.Contains(source, "shared objects file") {
		t.Errorf("the class of the host is from %q", source)
	}
	if err := work.Remove(); err != nil {
		t.Error(err)
	}
}
