// SPDX-License-Identifier: Apache-2.0

package java_test

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"example.org/app/internal/plugin"
	"example.org/app/internal/plugin/java"
)

// TestJVMThatDoesNotStart verifies that the error states the cause, also if the JVM writes
// warnings.
func TestJVMThatDoesNotStart(t *testing.T) {
	t.Parallel()
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "localhost:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	port := l.Addr().(*net.TCPAddr).Port
	for _, c := range []struct {
		name   string
		change func(*java.Options)
		want   []string
	}{
		{"heap", func(o *java.Options) { o.Flags = []string{"-Xlog:all=warning:stderr", "-Xms64m", "-Xmx32m"} }, []string{"Initial heap size set to a larger value than the maximum heap size"}},
		{"port", func(o *java.Options) { o.Debug.Port = port }, []string{fmt.Sprint("port ", port), "app.plugin.java.debug.port"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t, c.change)
			_, err := w.Load(t.Context(), plugin.Source{Name: "a.jar", Data: faults(t, "a")})
			for _, part := range c.want {
				if err == nil || !strings.Contains(err.Error(), part) {
					t.Errorf("%v lacks %q", err, part)
				}
			}
		})
	}
}

// TestSpecialFolders starts JVMs in folders with characters that are special in JVM flags.
func TestSpecialFolders(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"a,b", "a b", "a'b", `a"b`, "a=b", "a:b", "a%pb", "ä"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			folder := filepath.Join(t.TempDir(), name)
			if err := os.Mkdir(folder, 0o700); err != nil {
				t.Fatal(err)
			}
			w := newWorld(t, func(o *java.Options) { o.Folder = folder })
			w.load("a", faults(t, "a"))
		})
	}
}

// TestSmallHeap starts a JVM whose maximum heap is smaller than the default initial heap.
func TestSmallHeap(t *testing.T) {
	t.Parallel()
	w := newWorld(t, func(o *java.Options) { o.Flags = []string{"-Xmx10m"} })
	w.load("a", faults(t, "a"))
	if w.log.has("NewSize") || w.log.has("heap size") {
		t.Error("the JVM complains")
	}
}
