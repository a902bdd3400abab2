// SPDX-License-Identifier: Apache-2.0

package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"example.org/app/test/need"
)

// newRelease packs a small program instead of the server: packing does not depend on the binary,
// and compressing the server in each test would take minutes.
func newRelease(t *testing.T) (release, string) {
	t.Helper()
	binary := filepath.Join(t.TempDir(), "app")
	cmd := exec.CommandContext(t.Context(), "go", "build", "-trimpath", "-ldflags", "-s -w", "-o", binary, "./internal/apierr/generate")
	cmd.Dir = "../.."
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("build a program: %v\n%s", err, out)
	}
	return release{root: "../..", out: t.TempDir(), version: "v1.2.3-rc.1", commit: "abc", time: time.Unix(1767225600, 0)}, binary
}

// TestBaseline refuses releases without an API baseline.
func TestBaseline(t *testing.T) {
	for version, refused := range map[string]bool{"v99.0.0": true, "99.0.0": true, "v1.2.3-rc.1": false, "v1.2.3-4-gabc": false, "a5b24b9": false} {
		err := release{version: version}.checkBaseline()
		if (err != nil) != refused {
			t.Errorf("%s: the error is %v", version, err)
		}
		if refused && !strings.Contains(err.Error(), "renew -version 99.0.0") {
			t.Errorf("%s: the error does not say what to do: %v", version, err)
		}
	}
}

func TestPack(t *testing.T) {
	r, binary := newRelease(t)
	for _, target := range []target{{"linux", "amd64"}, {"darwin", "arm64"}, {"windows", "amd64"}} {
		if err := r.pack(t.Context(), target, binary); err != nil {
			t.Fatal(err)
		}
	}
	if err := r.checksums(); err != nil {
		t.Fatal(err)
	}
	entries, err := os.ReadDir(r.out)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	want := []string{
		"SHA256SUMS", "app-1.2.3~rc.1-1.x86_64.rpm", "app_1.2.3-rc.1_darwin_arm64.cdx.json", "app_1.2.3-rc.1_darwin_arm64.tar.gz",
		"app_1.2.3-rc.1_linux_amd64.cdx.json", "app_1.2.3-rc.1_linux_amd64.tar.gz", "app_1.2.3-rc.1_windows_amd64.cdx.json",
		"app_1.2.3-rc.1_windows_amd64.zip", "app_1.2.3~rc.1_amd64.deb",
	}
	if !slices.Equal(names, want) {
		t.Errorf("there are %q, want %q", names, want)
	}
	sums, err := os.ReadFile(filepath.Join(r.out, "SHA256SUMS"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names[1:] {
		data, err := os.ReadFile(filepath.Join(r.out, name))
		if err != nil {
			t.Fatal(err)
		}
		if line := fmt.Sprintf("%x  %s\n", sha256.Sum256(data), name); !strings.Contains(string(sums), line) {
			t.Errorf("SHA256SUMS lacks %s", line)
		}
	}
}

// TestSameSourcesSameBytes packs twice and compares the results.
func TestSameSourcesSameBytes(t *testing.T) {
	var runs [2]string
	for i := range runs {
		r, binary := newRelease(t)
		if err := r.pack(t.Context(), target{"linux", "amd64"}, binary); err != nil {
			t.Fatal(err)
		}
		if err := r.checksums(); err != nil {
			t.Fatal(err)
		}
		sums, err := os.ReadFile(filepath.Join(r.out, "SHA256SUMS"))
		if err != nil {
			t.Fatal(err)
		}
		runs[i] = string(sums)
	}
	if runs[0] != runs[1] {
		t.Errorf("the first run gives\n%s\nthe second\n%s", runs[0], runs[1])
	}
}

func TestArchive(t *testing.T) {
	r, binary := newRelease(t)
	if err := r.pack(t.Context(), target{"darwin", "arm64"}, binary); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(filepath.Join(r.out, "app_1.2.3-rc.1_darwin_arm64.tar.gz"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	unpacked, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	modes := map[string]int64{}
	for archive := tar.NewReader(unpacked); ; {
		h, err := archive.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		modes[h.Name] = h.Mode
	}
	folder := "app_1.2.3-rc.1_darwin_arm64/"
	for name, mode := range map[string]int64{"app": 0o755, "LICENSE": 0o644, licencesFile: 0o644, "README.md": 0o644, "docs/deployment.md": 0o644, "examples/chat/index.html": 0o644, "docs/": 0o755} {
		if modes[folder+name] != mode {
			t.Errorf("%s has the mode %o", name, modes[folder+name])
		}
	}
}

func TestZip(t *testing.T) {
	r, binary := newRelease(t)
	if err := r.pack(t.Context(), target{"windows", "arm64"}, binary); err != nil {
		t.Fatal(err)
	}
	archive, err := zip.OpenReader(filepath.Join(r.out, "app_1.2.3-rc.1_windows_arm64.zip"))
	if err != nil {
		t.Fatal(err)
	}
	defer archive.Close()
	want, err := os.ReadFile(binary)
	if err != nil {
		t.Fatal(err)
	}
	const folder = "app_1.2.3-rc.1_windows_arm64/"
	got, err := fs.ReadFile(archive, folder+"app.exe")
	if err != nil || !bytes.Equal(got, want) {
		t.Errorf("app.exe has %d bytes, want %d: %v", len(got), len(want), err)
	}
	for _, name := range []string{"LICENSE", "README.md", "docs/deployment.md", "examples/chat/index.html"} {
		if _, err := fs.Stat(archive, folder+name); err != nil {
			t.Error(err)
		}
	}
}

// TestDeb reads the package with dpkg-deb and unpacks it.
func TestDeb(t *testing.T) {
	if _, err := exec.LookPath("dpkg-deb"); err != nil {
		need.Skip(t, "dpkg-deb", err)
	}
	r, binary := newRelease(t)
	if err := r.pack(t.Context(), target{"linux", "amd64"}, binary); err != nil {
		t.Fatal(err)
	}
	deb := filepath.Join(r.out, "app_1.2.3~rc.1_amd64.deb")
	run := func(args ...string) string {
		t.Helper()
		out, err := exec.CommandContext(t.Context(), "dpkg-deb", args...).CombinedOutput()
		if err != nil {
			t.Fatalf("dpkg-deb %q: %v\n%s", args, err, out)
		}
		return string(out)
	}
	if info := run("--field", deb); !strings.Contains(info, "Version: 1.2.3~rc.1\n") || !strings.Contains(info, "Architecture: amd64\n") {
		t.Errorf("the package says\n%s", info)
	}
	dir := t.TempDir()
	run("--raw-extract", deb, dir)
	installed, err := os.ReadFile(filepath.Join(dir, "usr", "bin", "app"))
	if err != nil {
		t.Fatal(err)
	}
	if original, err := os.ReadFile(binary); err != nil || !bytes.Equal(original, installed) {
		t.Errorf("the binary in the package differs (%v)", err)
	}
	for _, name := range []string{"usr/lib/systemd/system/app@.service", "usr/share/doc/app/copyright", "usr/share/doc/app/" + licencesFile, "etc/app", "DEBIAN/postinst"} {
		if _, err := os.Stat(filepath.Join(dir, name)); err != nil {
			t.Error(err)
		}
	}
}

// TestParts compares the SBOM and the licences with software that is certainly in the release.
func TestParts(t *testing.T) {
	r, _ := newRelease(t)
	binary, err := os.Executable() // It contains modules.
	if err != nil {
		t.Fatal(err)
	}
	parts, err := r.parts(t.Context(), binary)
	if err != nil {
		t.Fatal(err)
	}
	if err := r.writeSBOM("x", parts); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(filepath.Join(r.out, "x.cdx.json"))
	if err != nil {
		t.Fatal(err)
	}
	var list bom
	if err := json.Unmarshal(data, &list); err != nil {
		t.Fatal(err)
	}
	if list.Format != "CycloneDX" || list.Metadata.Component.Version != "1.2.3-rc.1" {
		t.Errorf("the list begins with %+v", list.Metadata)
	}
	licences := string(r.licences(parts))
	want := map[string]string{
		"pkg:golang/std@": "The Go Authors", "pkg:golang/github.com/google/rpmpack@": "Apache License",
		"pkg:npm/react@": "Meta Platforms", "pkg:npm/%40codemirror/view@": "Marijn Haverbeke", "pkg:npm/acorn@": "Permission is hereby granted",
	}
	if r.checkJars() == nil {
		want["pkg:maven/org.ow2.asm/asm@"] = "INRIA"
		want["pkg:maven/com.google.protobuf/protobuf-java@"] = "Google Inc."
	}
	for url, text := range want {
		n := slices.IndexFunc(parts, func(p part) bool { return strings.HasPrefix(p.PURL, url) })
		if n < 0 || !slices.Contains(list.Components, parts[n].component) {
			t.Errorf("the SBOM lacks %s: %v", url, list.Components)
			continue
		}
		if p := parts[n]; !strings.Contains(p.licence, text) || !strings.Contains(licences, p.Name+" "+p.Version+"\n") || !strings.Contains(licences, strings.TrimSpace(p.licence)) {
			t.Errorf("the licence of %s is %q, or not among the licences", url, p.licence)
		}
	}
}

func TestPackageVersion(t *testing.T) {
	for version, want := range map[string]string{"v1.2.3": "1.2.3", "v1.2.3-4-gabcdef0": "1.2.3+4.gabcdef0", "abcdef0": "0~abcdef0", "v1.0.0-rc.1": "1.0.0~rc.1"} {
		if got := (release{version: version}).packageVersion(); got != want {
			t.Errorf("%s becomes %s, want %s", version, got, want)
		}
	}
}

func TestLinkerFlags(t *testing.T) {
	r, _ := newRelease(t)
	const variable = " -X example.org/app/internal/app."
	if flags := r.linkerFlags(); flags != "-s -w"+variable+"version=v1.2.3-rc.1"+variable+"commit=abc"+variable+"buildTime=2026-01-01T00:00:00Z" {
		t.Errorf("the flags are %s", flags)
	}
}

func TestChoose(t *testing.T) {
	if chosen, err := choose("linux/arm64"); err != nil || len(chosen) != 1 {
		t.Errorf("%v %v", chosen, err)
	}
	if _, err := choose("plan9/mips"); err == nil || !strings.Contains(err.Error(), "linux/amd64") {
		t.Errorf("an unknown target: %v", err)
	}
}
