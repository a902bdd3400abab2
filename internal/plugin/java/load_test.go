// SPDX-License-Identifier: Apache-2.0

package java_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"example.org/app/internal/plugin"
	"example.org/app/internal/plugin/java"
	"example.org/app/internal/plugin/java/javatest"
)

// shape returns the sources of a plugin in its own package.
func shape(name, plug, extension string) map[string]string {
	header := "package " + name + "; import im.app.plugin.*; import im.app.plugin.model.*; import im.app.service.infra.plugin.extension.*; import java.util.*;\n"
	return map[string]string{name + "/P.java": header + plug, name + "/E.java": header + extension}
}

const (
	goodPlugin    = "public class P extends AppPlugin { public Collection<Class<? extends AppExtension>> getExtensions() { return List.of(E.class); } }"
	goodExtension = "public class E extends AppExtension implements ClientRequestHandler { public ClientRequest transform(ClientRequest r) { return Helper.help(r); }\n static class Helper { static ClientRequest help(ClientRequest r) { return r; } } }"
)

// TestBadPlugins verifies that invalid plugins are rejected with an explanation, and leave no
// classes or files behind.
func TestBadPlugins(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	w := newWorld(t, func(o *java.Options) { o.Folder = folder })
	anchor := w.load("anchor", faults(t, "anchor"))
	// All plugins are compiled at once.
	sources := map[string]string{}
	shapes := func(plug, extension string) javatest.Plugin {
		name := fmt.Sprint("shape", len(sources)/2)
		maps.Copy(sources, shape(name, plug, extension))
		return javatest.Plugin{ID: "shape", Class: name + ".P", Sources: sources, Only: name + "/"}
	}
	good := shapes(goodPlugin, goodExtension)
	with := func(change func(*javatest.Plugin)) javatest.Plugin {
		p := good
		change(&p)
		return p
	}
	for _, c := range []struct {
		name   string
		plugin javatest.Plugin
		want   []string
	}{
		{"no descriptor", with(func(p *javatest.Plugin) { p.Descriptor = "-" }), []string{"no plugin.yaml"}},
		{"no such class", with(func(p *javatest.Plugin) { p.Class = "shape0.Nowhere" }), []string{"shape0.Nowhere"}},
		{"no plugin", with(func(p *javatest.Plugin) { p.Class = "shape0.E" }), []string{"shape0.E", "AppPlugin"}},
		{"constructor", shapes("public class P extends AppPlugin { public P(int n) {} public Collection<Class<? extends AppExtension>> getExtensions() { return List.of(E.class); } }", goodExtension), []string{".P ", "constructor"}},
		{"private constructor", shapes("public class P extends AppPlugin { private P() {} public Collection<Class<? extends AppExtension>> getExtensions() { return List.of(E.class); } }", goodExtension), []string{".P ", "constructor"}},
		{"constructor throws", shapes("public class P extends AppPlugin { public P() { throw new IllegalStateException(\"not today\"); } public Collection<Class<? extends AppExtension>> getExtensions() { return List.of(E.class); } }", goodExtension), []string{"not today"}},
		{"no extensions", shapes("public class P extends AppPlugin { public Collection<Class<? extends AppExtension>> getExtensions() { return List.of(); } }", goodExtension), []string{"getExtensions"}},
		{"null", shapes("public class P extends AppPlugin { public Collection<Class<? extends AppExtension>> getExtensions() { return null; } }", goodExtension), []string{"getExtensions"}},
		{"no point", shapes(goodPlugin, "public class E extends AppExtension {}"), []string{".E ", "extension point"}},
		{"constructor of an extension", shapes(goodPlugin, "public class E extends AppExtension implements ClientRequestHandler { public E(int n) {} }"), []string{".E ", "constructor"}},
		{"wrong annotation", shapes(goodPlugin, "public class E extends AppExtension implements ClientRequestHandler { @ExtensionPointMethod public void transfrom(ClientRequest r) { } }"), []string{".E ", "transfrom"}},
		{"class of the extension is missing", with(func(p *javatest.Plugin) { p.Without = []string{"shape0/E"} }), []string{"NoClassDefFoundError", "shape0/E"}},
		{"newer bytecode", with(func(p *javatest.Plugin) {
			p.Files = map[string]string{"shape0/P.class": "\xca\xfe\xba\xbe\x00\x00\x03\xe7"}
			p.Without = []string{"shape0/P"}
		}), []string{"999"}},
		{"server while it is loaded", shapes(goodPlugin, "public class E extends AppExtension implements ClientRequestHandler { public E() { storage().keys(\"\"); } }"), []string{"while"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			m, err := w.Load(t.Context(), plugin.Source{Name: "shape.jar", Data: javatest.Jar(t, c.plugin)})
			if err == nil {
				t.Fatal("it is loaded", m.Close(t.Context()))
			}
			for _, part := range c.want {
				if !strings.Contains(err.Error(), part) {
					t.Errorf("%v lacks %q", err, part)
				}
			}
			t.Log(err)
		})
	}
	stats, err := w.Measure(t.Context(), true)
	if err != nil || stats.Loaders != 1 {
		t.Errorf("%d loaders are left, %v", stats.Loaders, err)
	}
	if found, _ := filepath.Glob(filepath.Join(folder, "*", "plugin-*.jar")); len(found) != 1 {
		t.Errorf("the copies are %v", found)
	}
	if err := anchor.Close(t.Context()); err != nil {
		t.Error(err)
	}
	if left, _ := os.ReadDir(folder); len(left) != 0 {
		t.Errorf("the folder has %v", left)
	}
}

// TestMissingClassLater verifies that a class that is missing during a call is reported by the
// call's error.
func TestMissingClassLater(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	m := w.load("shape", javatest.Jar(t, javatest.Plugin{ID: "shape", Class: "shape.P", Sources: shape("shape", goodPlugin, goodExtension), Without: []string{"shape/E$Helper"}}))
	var out *plugin.ClientRequest
	if _, err := m.Extensions()[0].Call(t.Context(), plugin.TransformRequest, []any{&plugin.ClientRequest{}}, &out); err == nil || !strings.Contains(err.Error(), "NoClassDefFoundError: shape/E$Helper") {
		t.Errorf("the error is %v", err)
	}
}

// TestLoadedTooLate verifies that a plugin whose load was cancelled is unloaded once it is
// loaded.
func TestLoadedTooLate(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	anchor := w.load("anchor", faults(t, "anchor"))
	begun, end := filepath.Join(t.TempDir(), "begun"), filepath.Join(t.TempDir(), "end")
	slow := fmt.Sprintf(`public class E extends AppExtension implements ClientRequestHandler { public E() throws Exception {
  new java.io.File(%q).createNewFile();
  while (!new java.io.File(%q).exists()) { try { Thread.sleep(5); } catch (InterruptedException e) { } } } }`, begun, end)
	ctx, cancel := context.WithCancel(t.Context())
	loaded := make(chan error, 1)
	jar := javatest.Jar(t, javatest.Plugin{ID: "slow", Class: "slow.P", Sources: shape("slow", goodPlugin, slow)})
	go func() {
		_, err := w.Load(ctx, plugin.Source{Name: "slow.jar", Data: jar})
		loaded <- err
	}()
	waitFor(t, "the constructor", func() bool { _, err := os.Stat(begun); return err == nil })
	cancel()
	if err := <-loaded; !errors.Is(err, context.Canceled) {
		t.Errorf("the error is %v", err)
	}
	if err := os.WriteFile(end, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	waitFor(t, "the classes to go", func() bool {
		s, err := w.Measure(t.Context(), true)
		return err == nil && s.Loaders == 1 && s.Calls <= 1
	})
	w.says(anchor, "echo", "echo")
}

// TestNoJava checks the errors for a missing Java and a missing jar.
func TestNoJava(t *testing.T) {
	t.Parallel()
	w := newWorld(t, func(o *java.Options) { o.Home = t.TempDir() })
	if _, err := w.Load(t.Context(), plugin.Source{Name: "a.jar", Data: faults(t, "a")}); !errors.Is(err, java.ErrNoJava) {
		t.Errorf("the error is %v", err)
	}
	if _, err := java.Jar("nothing.jar"); !errors.Is(err, java.ErrNoJars) {
		t.Errorf("the error is %v", err)
	}
}

// TestLeftFolders verifies that the folders of killed servers are removed, and those of
// running servers are not.
func TestLeftFolders(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	left := filepath.Join(folder, "app-java-1")
	if err := os.MkdirAll(left, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(left, "lock"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	one := newWorld(t, func(o *java.Options) { o.Folder = folder })
	other := newWorld(t, func(o *java.Options) { o.Folder = folder })
	a, b := one.load("a", faults(t, "a")), other.load("b", faults(t, "b"))
	one.says(a, "echo", "echo")
	other.says(b, "echo", "echo")
	if found, _ := os.ReadDir(folder); len(found) != 2 {
		t.Errorf("the folders are %v", found)
	}
}

// TestUnloading verifies in 300 rounds that unloaded plugins leave no classes behind.
func TestUnloading(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	anchor := w.load("anchor", faults(t, "anchor"))
	jar := faults(t, "round")
	var first java.Stats
	for round := range 300 {
		m := w.load("round", jar)
		w.says(m, "echo", "echo")
		if err := m.Extensions()[0].Hook(t.Context(), plugin.Stop); err != nil {
			t.Fatal(err)
		}
		if err := m.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
		if round == 50 {
			s, err := w.Measure(t.Context(), true)
			if err != nil {
				t.Fatal(err)
			}
			first = s
		}
	}
	waitFor(t, "the classes to go", func() bool {
		s, err := w.Measure(t.Context(), true)
		// Profiling data of the host's own code takes metaspace as well.
		return err == nil && s.Loaders == 1 && s.Classes <= first.Classes+50 && s.Metaspace <= first.Metaspace+2<<20
	})
	w.says(anchor, "echo", "echo")

	m := w.load("round", jar)
	w.says(m, "thread", "thread")
	if err := m.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if !w.log.has("threads of a plugin still run", "left behind") {
		t.Error("the log does not name the thread that is left")
	}
}
