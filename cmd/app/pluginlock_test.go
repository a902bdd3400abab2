// SPDX-License-Identifier: Apache-2.0

package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha512"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// loudPackage is the source of the package that a lockedPlugin imports.
const loudPackage = "module.exports = (text) => text + '!';"

// A lockedPlugin is a plugin in TypeScript with a test; both import a package that only
// package-lock.json names.
type lockedPlugin struct {
	file, cache string
	registry    *httptest.Server
}

func newLockedPlugin(t *testing.T) lockedPlugin {
	t.Helper()
	var archive bytes.Buffer
	zipped := gzip.NewWriter(&archive)
	w := tar.NewWriter(zipped)
	err := w.WriteHeader(&tar.Header{Name: "package/index.js", Mode: 0o644, Size: int64(len(loudPackage))})
	if err == nil {
		_, err = w.Write([]byte(loudPackage))
	}
	if err := errors.Join(err, w.Close(), zipped.Close()); err != nil {
		t.Fatal(err)
	}
	p := lockedPlugin{file: newPlugin(t, "ts", "loud"), cache: t.TempDir()}
	p.registry = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(archive.Bytes()) }))
	t.Cleanup(p.registry.Close)
	source, err := os.ReadFile(p.file)
	if err != nil {
		t.Fatal(err)
	}
	sum := sha512.Sum512(archive.Bytes())
	for name, text := range map[string]string{
		"loud.ts":      "import loud from 'loud';\nconsole.log(loud('loaded'));\n" + string(source),
		"more.test.ts": "import loud from 'loud';\nimport { assert, test } from 'app:test';\ntest('is loud', () => { assert.equal(loud('a'), 'a!'); });\n",
		"package-lock.json": fmt.Sprintf(`{"lockfileVersion":3,"packages":{"node_modules/loud":{"version":"1.0.0","resolved":"%s/loud.tgz","integrity":"sha512-%s"}}}`,
			p.registry.URL, base64.StdEncoding.EncodeToString(sum[:])),
	} {
		if err := os.WriteFile(filepath.Join(filepath.Dir(p.file), name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return p
}

// run runs the program with its own package cache.
func (p lockedPlugin) run(t *testing.T, args ...string) (int, string) {
	t.Helper()
	cmd := command(t, []string{"XDG_CACHE_HOME=" + p.cache, "HOME=" + p.cache}, args...)
	out, _ := cmd.CombinedOutput()
	return cmd.ProcessState.ExitCode(), string(out)
}

func TestPluginBuildFromLock(t *testing.T) {
	p := newLockedPlugin(t)
	script := filepath.Join(filepath.Dir(p.file), "dist", "loud.js")
	if code, out := p.run(t, "plugin", "build", p.file); code != 0 {
		t.Fatalf("build: %d %s", code, out)
	}
	if data, err := os.ReadFile(script); err != nil || !strings.Contains(string(data), "// node_modules/loud/index.js") || !strings.Contains(string(data), loudPackage[:14]) {
		t.Errorf("%s, %v", data, err)
	}
	for _, file := range []string{p.file, script} {
		if code, out := p.run(t, "plugin", "check", file); code != 0 || !strings.Contains(out, "extension Loud\n") {
			t.Errorf("check %s: %d %s", file, code, out)
		}
	}
	// The cached archive is used when the registry cannot be reached.
	p.registry.Close()
	if code, out := p.run(t, "plugin", "build", p.file); code != 0 {
		t.Errorf("build: %d %s", code, out)
	}
	if err := os.RemoveAll(p.cache); err != nil {
		t.Fatal(err)
	}
	if code, out := p.run(t, "plugin", "build", p.file); code != 1 || !strings.Contains(out, `get package "loud", version "1.0.0"`) || !strings.Contains(out, `"npm ci" installs it`) {
		t.Errorf("build: %d %s", code, out)
	}
}

func TestPluginTestFromLock(t *testing.T) {
	p := newLockedPlugin(t)
	code, out := p.run(t, "plugin", "test", filepath.Dir(p.file), "--timeout", "5m")
	if code != 0 || !strings.Contains(out, "3 tests in 2 files: 3 passed") || !strings.Contains(out, "ok    is loud") {
		t.Errorf("test: %d %s", code, out)
	}
}

func TestPluginPublishFromLock(t *testing.T) {
	p := newLockedPlugin(t)
	s := run(t, t.TempDir())
	token := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(token, []byte(tokenOf(t, s)), 0o600); err != nil {
		t.Fatal(err)
	}
	code, out := p.run(t, "plugin", "publish", "--timeout", "10m", "--url", s.service, "--token-file", token, p.file)
	if code != 0 || !strings.Contains(out, "is version 1 of the cluster") || !strings.Contains(out, "all 2 nodes have it\n") {
		t.Errorf("publish: %d %s", code, out)
	}
	// Without the package, publish fails.
	p.registry.Close()
	if err := os.RemoveAll(p.cache); err != nil {
		t.Fatal(err)
	}
	code, out = p.run(t, "plugin", "publish", "--timeout", "10m", "--url", s.service, "--token-file", token, p.file)
	if code != 1 || !strings.Contains(out, `get package "loud", version "1.0.0"`) {
		t.Errorf("publish without the package: %d %s", code, out)
	}
}
